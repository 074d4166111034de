"""docs/configuration.md lists what settings read: each variable, with the default it has."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.newsletter_site.reading_settings import ROOT, SETTINGS

PAGE = (ROOT / "docs" / "configuration.md").read_text()
ROW = re.compile(r"^\| `([A-Z][A-Z0-9_]*)` \| (.+?) \| (.+) \|$", re.MULTILINE)
LISTED = {name: default for name, default, _ in ROW.findall(PAGE)}


def variables_read() -> dict[str, str | None]:
    """Each variable that settings read, with its default where that is written out."""
    found: dict[str, str | None] = {}
    for node in ast.walk(ast.parse(SETTINGS.read_text())):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="env")),
                args=[ast.Constant(value=str(name)), *rest],
            ):
                written = [arg.value for arg in rest[:1] if isinstance(arg, ast.Constant)]
                is_reason = node.func.attr == "required"  # type: ignore[attr-defined]
                if written and not is_reason:
                    found[name] = str(written[0])
                else:
                    found.setdefault(name, None)
            case ast.Compare(left=ast.Constant(value=str(name)), ops=[ast.In() | ast.NotIn()]):
                found.setdefault(name, None)
    return found


def test_the_page_lists_exactly_what_settings_read() -> None:
    read = variables_read()
    assert len(read) > 25
    assert set(LISTED) == set(read)


def test_no_variable_is_listed_twice() -> None:
    assert len(ROW.findall(PAGE)) == len(LISTED)


@pytest.mark.parametrize(
    ("name", "default"),
    [(name, default) for name, default in variables_read().items() if default not in {None, ""}],
)
def test_the_page_tells_the_default_that_settings_have(name: str, default: str) -> None:
    told = "off" if default == "False" else default
    assert told in re.sub("`", "", LISTED[name])


def test_every_variable_has_a_reason() -> None:
    for name, _, reason in ROW.findall(PAGE):
        assert reason.endswith("."), name


def reads_the_environment(path: Path) -> bool:
    """Whether a module uses `os.environ` or `os.getenv`."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in {"environ", "getenv"}
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
        for node in ast.walk(ast.parse(path.read_text()))
    )


def test_nothing_but_settings_reads_the_environment() -> None:
    site = ROOT / "newsletter_site"
    # Two name the settings module to Django, which asks for it this way; one hands the whole
    # environment on to the processes of the demonstration.
    others = {ROOT / "manage.py", site / "wsgi.py", site / "demo" / "environment.py"}
    packages = ["newsletter_site", "publishing", "subscribers", "api", "idempotency", "delivery"]
    sources = {path for package in packages for path in (ROOT / package).rglob("*.py")}
    assert len(sources) > 50
    assert {path for path in sources | others if reads_the_environment(path)} <= {SETTINGS} | others


def test_no_path_of_a_machine_stands_on_the_page() -> None:
    assert not re.search(r"(?<![\w.])/(home|root|work|tmp|Users)/", PAGE)
    assert Path("docs/configuration.md").name in (ROOT / "docs" / "architecture.md").read_text()
