"""Imports run one way (the rules are in pyproject.toml), and folders stay small."""

from collections import Counter
from pathlib import Path

import importlinter.api  # noqa: F401 -- it sets the linter up
import pytest
from importlinter.application.use_cases import lint_imports

from tests.newsletter_site.read_settings import ROOT


def test_every_import_rule_holds(capsys: pytest.CaptureFixture[str]) -> None:
    kept = lint_imports(str(ROOT / "pyproject.toml"), cache_dir=None, no_logo=True)

    report = capsys.readouterr().out
    assert kept, report
    assert "14 kept, 0 broken" in report  # The number is fixed, so that a deleted rule is noticed.


MOST_MODULES = 15
FOLDERS = (
    "api",
    "benchmarks",
    "delivery",
    "idempotency",
    "newsletter_site",
    "postmark_sandbox",
    "publishing",
    "subscribers",
    "tests",
)


def test_no_folder_has_too_many_modules() -> None:
    modules: Counter[Path] = Counter()
    for name in FOLDERS:
        for path in (ROOT / name).rglob("*.py"):
            modules[path.parent.relative_to(ROOT)] += path.name != "__init__.py"

    assert {folder: n for folder, n in modules.items() if n > MOST_MODULES} == {}


# Django, pytest or Python look for these names, so the names may occur more than once.
GIVEN = {
    *("__init__.py", "__main__.py", "admin.py", "apps.py", "conftest.py", "models.py", "urls.py"),
    *("base.py", "settings.py"),
}
TYPED = {"commands", "rows"}  # commands of manage.py, rows of the benchmarks


def test_a_file_name_occurs_once() -> None:
    names = Counter(
        path.name
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if path.name not in GIVEN and not TYPED & set(path.parts) and "migrations" not in path.parts
    )

    assert [name for name, times in names.items() if times > 1] == []
    # Templates of the admin have the names that Django looks for, so they may occur twice.
    ours = (path for path in (ROOT / "templates").rglob("*.html") if "admin" not in path.parts)
    pages = Counter(path.name for path in (*ours, *(ROOT / "postmark_sandbox").rglob("*.html")))
    assert [name for name, times in pages.items() if times > 1] == []
