"""docs/configuration.md lists every variable; only the settings module reads them."""

import ast
import re
from pathlib import Path

from tests.newsletter_site.read_settings import ROOT, SETTINGS

PAGE = (ROOT / "docs" / "configuration.md").read_text()


def variables_read() -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(SETTINGS.read_text())):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="env")), args=[ast.Constant(value=name), *_]
            ):
                found.add(str(name))
            case ast.Compare(left=ast.Constant(value=str(name)), ops=[ast.In() | ast.NotIn()]):
                # Names in lower case are commands.
                found |= {name} if name.isupper() else set()
    return found


def test_the_page_lists_exactly_what_settings_read() -> None:
    listed = re.findall(r"^\| `([A-Z][A-Z0-9_]*)` \|", PAGE, re.MULTILINE)
    assert len(listed) > 25
    assert sorted(listed) == sorted(variables_read())


def reads_the_environment(path: Path) -> bool:
    return bool(re.search(r"(?<!`)\bos\.(environ|getenv)\b", path.read_text()))


def test_nothing_but_settings_reads_the_environment() -> None:
    site = ROOT / "newsletter_site"
    # Two of these files set the name of the settings module; the others pass the environment on.
    others = {ROOT / "manage.py", site / "wsgi.py", site / "demo" / "start_services.py"}
    others.add(site / "backup" / "postgres_programs.py")
    # listen.py reads a variable that systemd sets: the id of the process that gets the socket.
    others.add(site / "serving" / "listen.py")
    packages = ["newsletter_site", "publishing", "subscribers", "api", "idempotency", "delivery"]
    sources = {path for package in packages for path in (ROOT / package).rglob("*.py")}
    assert len(sources) > 50
    assert {path for path in sources | others if reads_the_environment(path)} <= {SETTINGS} | others
