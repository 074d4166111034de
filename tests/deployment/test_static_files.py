"""Style sheets and scripts: kept by browsers once they are collected, and there without it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.staticfiles.finders import get_finders

from tests.deployment.served_site import ROOT, ServedSite, served_site

YEARS = 10 * 365 * 24 * 3600


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `collectstatic` makes."""
    folder = tmp_path_factory.mktemp("static")
    done = subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"],
        cwd=ROOT,
        env={**os.environ, "STATIC_ROOT": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def site(collected: Path, database_url: str) -> Iterator[ServedSite]:
    """The site with its files collected."""
    with served_site(database_url, STATIC_ROOT=str(collected)) as site:
        yield site


def style_sheet(page: str) -> str:
    """The address of the site's own style sheet on a page."""
    found = re.search(r'href="(/static/homing[^"]*\.css)"', page)
    assert found, page
    return found[1]


@pytest.mark.django_db
def test_a_page_names_its_style_sheet_by_its_content_and_browsers_keep_it(site: ServedSite) -> None:
    page = site.get("/archive/")
    address = style_sheet(page.text)
    assert re.fullmatch(r"/static/homing\.[0-9a-f]{12}\.css", address)
    answer = site.get(address)
    assert answer.status_code == 200
    policy = answer.headers["Cache-Control"]
    assert "public" in policy
    assert "immutable" in policy
    age = re.search(r"max-age=(\d+)", policy)
    assert age
    assert int(age[1]) >= YEARS


@pytest.mark.django_db
def test_a_file_that_is_kept_comes_compressed(site: ServedSite) -> None:
    address = style_sheet(site.get("/archive/").text)
    plain = site.get(address, **{"Accept-Encoding": "identity"})
    small = site.get(address, **{"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain.headers
    assert small.headers["Content-Encoding"] == "gzip"
    assert int(small.headers["Content-Length"]) * 2 < int(plain.headers["Content-Length"])
    assert small.content == plain.content


def test_a_script_imports_the_parts_that_it_was_collected_with(collected: Path) -> None:
    [whole] = collected.glob("composer.????????????.js")
    imported = re.findall(r'from "\./([^"]+)"', whole.read_text())
    assert len(imported) > 5
    for part in imported:
        assert re.fullmatch(r"composer/[a-z-]+\.[0-9a-f]{12}\.js", part)
        assert (collected / part).exists()


@pytest.mark.django_db
def test_without_collecting_a_page_names_the_files_as_they_stand(
    database_url: str, tmp_path: Path
) -> None:
    with served_site(database_url, STATIC_ROOT=str(tmp_path / "nothing")) as site:
        address = style_sheet(site.get("/archive/").text)
        assert address == "/static/homing.css"
        answer = site.get(address)
    assert answer.status_code == 200
    assert "immutable" not in answer.headers["Cache-Control"]


@pytest.mark.django_db
def test_a_file_that_came_after_collecting_is_named_as_it_stands(
    collected: Path, database_url: str, tmp_path: Path
) -> None:
    before = tmp_path / "before"
    before.mkdir()
    manifest = (collected / "staticfiles.json").read_text()
    without = re.sub(r'"homing\.css": "[^"]*", ?', "", manifest)
    assert without != manifest
    (before / "staticfiles.json").write_text(without)
    with served_site(database_url, STATIC_ROOT=str(before)) as site:
        assert style_sheet(site.get("/archive/").text) == "/static/homing.css"


@pytest.mark.parametrize("are_collected", [True, False])
def test_the_check_before_deploying_says_where_nothing_was_collected(
    collected: Path, tmp_path: Path, are_collected: bool
) -> None:
    folder = collected if are_collected else tmp_path
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy"],
        cwd=ROOT,
        env={**os.environ, "STATIC_ROOT": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ("homing.W002" in done.stderr) is not are_collected


def test_no_two_files_want_one_place_so_that_collecting_warns_of_nothing() -> None:
    places = [place for finder in get_finders() for place, _ in finder.list([])]

    assert sorted(places) == sorted(set(places))
