"""Today's migrations of delivery, followed by those of a later release."""

from pathlib import Path

TODAY = Path(__file__).resolve().parents[4] / "migrations" / "delivery"
__path__ = [str(Path(__file__).parent), str(TODAY)]

LAST_OF_TODAY = max(path.stem for path in TODAY.glob("[0-9]*.py"))
