"""What a proxy says of a request is the site's to believe, and not the web server's."""

from __future__ import annotations

import pytest

from tests.deployment.conftest import Sites
from tests.deployment.served_site import ServedSite

pytestmark = pytest.mark.django_db

PAGE, CALL = "/archive/", "/api/v1/issues/"
SAID = ("X-Forwarded-Proto", "X-Forwarded-Protocol", "X-Forwarded-Ssl")


@pytest.fixture(scope="module")
def trusting(sites: Sites) -> ServedSite:
    """A site that trusts its proxy."""
    return sites(TRUST_PROXY="on")


@pytest.fixture(scope="module")
def distrustful(sites: Sites) -> ServedSite:
    """A site that has no proxy."""
    return sites(TRUST_PROXY="off")


def test_without_a_trusted_proxy_nobody_is_believed(distrustful: ServedSite) -> None:
    for name in SAID:
        said = {"X-Forwarded-Proto": "", name: "on" if name.endswith("Ssl") else "https"}
        answer = distrustful.get(PAGE, **said)
        assert answer.status_code == 301, name
        assert answer.headers["Location"] == f"https://letter.example.org{PAGE}"
    refused = distrustful.get(CALL)
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:homing:problem:use-https")


def test_a_trusted_proxy_is_believed(trusting: ServedSite) -> None:
    assert trusting.get(PAGE).status_code == 200
    assert trusting.get(PAGE, **{"X-Forwarded-Proto": "http"}).status_code == 301
    assert trusting.get(CALL).status_code == 401


def test_nobody_moves_the_site_to_another_path(
    trusting: ServedSite, distrustful: ServedSite
) -> None:
    for site in (trusting, distrustful):
        assert site.get("/health/live/", SCRIPT_NAME="/health").status_code == 200
