"""Style sheets and scripts are served, and cached once they are collected."""

import re
from pathlib import Path
from typing import Any

import pytest
import requests
from django.contrib.staticfiles.finders import get_finders
from django.core.checks import run_checks
from django.core.management import call_command
from django.test import Client, override_settings

from tests.deployment.conftest import Sites
from tests.deployment.served_site import FROM_THE_PROXY, PATIENCE_S, ServedSite

YEARS = 10 * 365 * 24 * 3600


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static")
    with override_settings(STATIC_ROOT=str(folder)):
        call_command("collectstatic", interactive=False, verbosity=0)
    return folder


@pytest.fixture(scope="module")
def site(collected: Path, sites: Sites) -> ServedSite:
    # The tests' settings find files on request; the product's settings list them at the start.
    return sites(STATIC_ROOT=str(collected), DJANGO_SETTINGS_MODULE="newsletter_site.settings")


def style_sheet(page: str) -> str:
    found = re.search(r'href="(/static/homing[^"]*\.css)"', page)
    assert found, page
    return found[1]


@pytest.mark.django_db
def test_collected_style_sheet_is_compressed_and_cached_by_content(
    collected: Path, site: ServedSite
) -> None:
    address = style_sheet(site.get("/archive/").text)
    assert re.fullmatch(r"/static/homing\.[0-9a-f]{12}\.css", address)
    plain = site.get(address, **{"Accept-Encoding": "identity"})
    small = site.get(address, **{"Accept-Encoding": "gzip"})
    policy = plain.headers["Cache-Control"].split(", ")
    assert {"public", "immutable"} <= set(policy)
    assert max(int(one[8:]) for one in policy if one.startswith("max-age=")) >= YEARS
    assert "Content-Encoding" not in plain.headers
    assert small.headers["Content-Encoding"] == "gzip"
    assert int(small.headers["Content-Length"]) * 2 < int(plain.headers["Content-Length"])
    assert small.content == plain.content
    (collected / "later.css").touch()
    assert site.get("/static/later.css").status_code == 404


@pytest.mark.django_db
def test_connection_is_kept_after_probes_and_unchanged_files(site: ServedSite) -> None:
    address = style_sheet(site.get("/archive/").text)
    tag = {"If-None-Match": site.get(address).headers["ETag"]}
    with requests.Session() as browser:
        for path, status in ((address, 304), ("/health/live/", 200), ("/archive/", 200)) * 2:
            given = FROM_THE_PROXY | (tag if status == 304 else {})
            answer = browser.get(site.url + path, headers=given, timeout=PATIENCE_S)
            assert (answer.status_code, answer.headers.get("Connection")) == (status, None)


def test_script_imports_its_collected_parts(collected: Path) -> None:
    [whole] = collected.glob("composer.????????????.js")
    imported = re.findall(r'from "\./([^"]+)"', whole.read_text())
    assert len(imported) > 5
    for part in imported:
        assert re.fullmatch(r"composer/[a-z-]+\.[0-9a-f]{12}\.js", part)
        assert (collected / part).exists()


@pytest.mark.django_db
def test_uncollected_file_is_served_under_its_own_name(
    collected: Path, settings: Any, tmp_path: Path
) -> None:
    settings.WHITENOISE_AUTOREFRESH = False  # as on a real site
    settings.STATIC_ROOT = str(tmp_path / "nothing")
    client = Client()
    assert style_sheet(client.get("/archive/", secure=True).content.decode()) == (
        "/static/homing.css"
    )
    answer = client.get("/static/homing.css", secure=True)
    assert b"".join(answer).startswith(b"/*")  # type: ignore[call-overload]
    assert "immutable" not in answer["Cache-Control"]

    # Act as if this file had not yet existed when the other files were collected.
    manifest = (collected / "staticfiles.json").read_text()
    without = re.sub(r'"homing\.css": "[^"]*", ?', "", manifest)
    assert without != manifest
    (tmp_path / "staticfiles.json").write_text(without)
    settings.STATIC_ROOT = str(tmp_path)
    page = client.get("/archive/", secure=True).content.decode()
    assert style_sheet(page) == "/static/homing.css"


@pytest.mark.django_db
def test_deploy_check_reports_missing_collected_files(
    collected: Path, settings: Any, tmp_path: Path
) -> None:
    def is_reported(*, deploys: bool) -> bool:
        found = run_checks(tags=["homing"], include_deployment_checks=deploys)
        return "homing.W002" in {one.id for one in found}

    settings.STATIC_ROOT = str(collected)
    assert not is_reported(deploys=True)
    settings.STATIC_ROOT = str(tmp_path)
    assert is_reported(deploys=True)
    assert not is_reported(deploys=False)


def test_collecting_warns_of_no_duplicate_files() -> None:
    places = [place for finder in get_finders() for place, _ in finder.list([])]
    assert sorted(places) == sorted(set(places))
