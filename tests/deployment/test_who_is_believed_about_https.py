"""What a proxy says of a request is the site's to believe, and not the web server's."""

from __future__ import annotations

import pytest

from tests.deployment.served_site import served_site

pytestmark = pytest.mark.django_db(transaction=True)

PAGE, CALL = "/archive/", "/api/v1/issues/"
SAID = ("X-Forwarded-Proto", "X-Forwarded-Protocol", "X-Forwarded-Ssl")


def test_without_a_trusted_proxy_nobody_is_believed(database_url: str) -> None:
    with served_site(database_url, TRUST_PROXY="off") as site:
        for name in SAID:
            said = {"X-Forwarded-Proto": "", name: "on" if name.endswith("Ssl") else "https"}
            answer = site.get(PAGE, **said)
            assert answer.status_code == 301, name
            assert answer.headers["Location"] == f"https://letter.example.org{PAGE}"
        refused = site.get(CALL)
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:homing:problem:use-https")


def test_a_trusted_proxy_is_believed(database_url: str) -> None:
    with served_site(database_url, TRUST_PROXY="on") as site:
        assert site.get(PAGE).status_code == 200
        assert site.get(PAGE, **{"X-Forwarded-Proto": "http"}).status_code == 301
        assert site.get(CALL).status_code == 401


@pytest.mark.parametrize("trusted", ["off", "on"])
def test_nobody_moves_the_site_to_another_path(database_url: str, trusted: str) -> None:
    with served_site(database_url, TRUST_PROXY=trusted) as site:
        answer = site.get("/health/live/", SCRIPT_NAME="/health")
    assert answer.status_code == 200
