"""How much CPU time does the check sheet of a hostile letter take?

Each letter has 1,000,000 characters. It repeats a piece that is hard for a parser, or it is a real
letter made longer. The full check runs as on the page: Homing composes the mail, makes the plain
text and reads all of it. The slowest kind of letter is the result. A letter of a quarter of the
length is checked in alternation: four times the length may take at most six times as long. The
measure is CPU time, because other programs disturb it less.
"""

import json
import tempfile
from pathlib import Path

from benchmarks.frame import Measured, Options, RowResult, Target, ratio, run_alone, say, shown
from benchmarks.letter import letter
from benchmarks.site.site import a_site
from benchmarks.site.within_site import within

LONGEST, SHARE = 1_000_000, 4
# Each `#` becomes a different number.
KINDS = (
    "<", "&#", '<a b="', "<!--", "<b><i></b>", "<h1>x</h1>", "<blockquote><p>x",
    "<table><tr><td>x", '<a href="https://x.org/#">x</a>', '<img src="x#">', "{{ f# }}",
    "<style>a{color:red}</style>",
)  # fmt: skip


def measure(options: Options) -> RowResult:
    """Measure the worst kind at full length, and its growth."""
    length = options.size(LONGEST, 40_000)
    letters = [made(kind, size) for size in (length // SHARE, length) for kind in (*KINDS, "")]
    runs = []
    with a_site() as site, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "letters.json"
        file.write_text(json.dumps(letters))
        for number in range(1, options.rounds + 1):
            runs.append(within(site, "benchmarks.programs.check_sheets", str(file)))
            say(f"  round {number}: the worst kind: {shown(max(runs[-1]), 's')}")
    kinds = len(KINDS) + 1
    quarter, full = (
        [
            Measured(name, "s", tuple(run[at + part] for run in runs))
            for at, name in enumerate(names)
        ]
        for part, names in ((0, ("",) * kinds), (kinds, (*KINDS, "a letter of paragraphs")))
    )
    worst = max(range(kinds), key=lambda at: full[at].median)
    return RowResult(
        f"check sheet of {length:,} characters",
        (
            Target(
                f"hostile, the worst kind ({full[worst].name}): at most 2 s of CPU",
                full[worst], 2.0, at_most=True,
            ),
            Target(
                f"{SHARE} × as long: at most 6 × the time",
                ratio("full : quarter", full[worst], quarter[worst]), 6.0, at_most=True,
            ),
        ),
        (*(one for at, one in enumerate(full) if at != worst),),
    )  # fmt: skip


def made(kind: str, length: int) -> str:
    """Build a letter of about this length; without a kind it consists of paragraphs."""
    if not kind:
        return letter(length)
    count = length // len(kind)
    if "#" not in kind or kind == "&#":
        return kind * count
    return "".join(kind.replace("#", str(number)) for number in range(count))[:length]


if __name__ == "__main__":
    run_alone(measure)
