"""Where a second factor is demanded of everybody, whoever has none comes no further than to it."""

from __future__ import annotations

from typing import Any

from django.conf import LazySettings

from tests.newsletter_site.second_factor.a_browser import DESK, PAGE, PASSWORD, Browser, code_now


def test_where_it_is_demanded_whoever_has_none_sees_no_other_page(settings: LazySettings) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    window = Browser()
    window.sign_in()
    for address in ("/admin/", DESK, "/admin/newsletters/write/", "/admin/newsletter_site/user/"):
        assert window.at(address)["Location"] == PAGE
    refused = window.send("/admin/newsletters/", title="x")
    assert refused.status_code == 403
    assert "second factor" in refused.content.decode()
    assert "asked of everybody here" in window.at(PAGE).content.decode()
    leaving = window.session_alone()
    assert leaving.send("/admin/logout/").status_code in {200, 302}
    assert leaving.at(PAGE).status_code == 302
    window.sign_in()
    window.send(PAGE, do="begin", proof=PASSWORD)
    window.send(PAGE, do="confirm", code=code_now())
    assert window.is_signed_in


def test_asking_whether_a_code_is_demanded_costs_a_page_no_statement(
    settings: LazySettings, django_assert_num_queries: Any
) -> None:
    window = Browser()
    window.sign_in()
    window.at("/admin/password_change/")
    with django_assert_num_queries(2):  # the session, and its author
        window.at("/admin/password_change/")
