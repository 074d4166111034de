"""What a second post of the same form does, when the first has ended."""

from __future__ import annotations

import pytest
from django.contrib import messages
from django.contrib.messages import get_messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection
from django.http import HttpResponse, StreamingHttpResponse
from django.middleware.csrf import get_token
from django.template import engines
from django.template.response import TemplateResponse
from django.utils.safestring import SafeData, mark_safe

from idempotency.answer import CannotBeReplayedError
from idempotency.claim import seats
from idempotency.models import PostedForm
from idempotency.saved_answers import BrokenClaimError
from tests.idempotency.printing_site import LeafletForm, titles

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.urls("tests.idempotency.printing_site"),
]

PRINTED = [[25, "The leaflet is printed.", "paper success"]]


def all_headers(response):
    """Every header of an answer but the cookies."""
    return sorted(response.items())


# --- The same form again ------------------------------------------------------------------------


def test_a_second_post_with_the_same_key_does_nothing_and_is_answered_the_same(browser):
    first = browser.post()
    second = browser.window().post()

    assert titles() == ["Hello"]
    assert first.status_code == second.status_code == 303
    assert first.content == second.content == "Grüße".encode("latin-1")
    assert all_headers(first) == all_headers(second)
    assert second["Link"] == "</a>; rel=next, </b>; rel=prev"
    assert second["Content-Type"] == "text/plain; charset=latin-1"


def test_a_replay_shows_the_same_message_again(browser):
    browser.post()
    again = browser.window()
    again.post()

    assert browser.messages() == PRINTED
    assert again.messages() == PRINTED


def test_a_message_keeps_being_html_or_plain_text_in_a_replay(browser, during_work):
    def say(request):
        messages.info(request, mark_safe("<b>bold</b>"))
        messages.info(request, "<b>plain</b>")

    during_work(say)
    browser.post()
    again = browser.window()
    again.post()

    def is_html():
        """Say for each message on the next page whether a template would leave it as it is."""
        request = again.next_page().wsgi_request
        return [isinstance(m.message, SafeData) for m in get_messages(request)]

    assert is_html() == [False, True, False]


def test_a_message_that_the_answer_shows_itself_is_in_the_body_and_not_repeated(
    browser, during_work
):
    during_work(
        lambda request: HttpResponse(", ".join(str(message) for message in get_messages(request)))
    )
    first, again = browser.post(), browser.window()
    second = again.post()

    assert first.content == second.content == b"The leaflet is printed."
    assert again.messages() == []


def test_older_messages_are_not_saved_with_an_answer_and_not_lost(browser, during_work):
    browser.post("an-older-key")
    during_work(
        lambda request: HttpResponse(", ".join(str(message) for message in get_messages(request)))
    )

    assert browser.post().content == b"The leaflet is printed."
    assert browser.messages() == PRINTED


def test_a_header_that_the_view_took_away_stays_away(browser, during_work):
    def answer(request):
        response = HttpResponse(b"\x00\xff")
        del response["Content-Type"]
        return response

    during_work(answer)
    first, second = browser.post(), browser.window().post()

    assert all_headers(first) == all_headers(second)
    assert not second.has_header("Content-Type")
    assert second.content == b"\x00\xff"


def test_cookies_are_neither_saved_nor_given_again(browser, during_work):
    first, second = browser.post(), browser.window().post()

    assert first.cookies["printed"].value == "yes"
    assert "printed" not in second.cookies
    assert b"printed=yes" not in stored()


def test_a_set_cookie_header_and_a_csrf_header_of_the_view_are_not_saved(browser, during_work):
    during_work(lambda _: HttpResponse(headers={"Set-Cookie": "a=b", "X-CSRFToken": "token"}))
    browser.post()
    second = browser.window().post()

    assert not second.has_header("Set-Cookie")
    assert not second.has_header("X-CSRFToken")


def test_a_replay_needs_no_seat_and_no_transaction(browser, onlooker):
    browser.post("k")
    for number in seats(browser.author.pk, "k"):
        onlooker.one("SELECT pg_advisory_lock(%s)::text", number)

    assert browser.window().post("k").status_code == 303


def test_the_same_form_is_answered_the_same_even_if_it_would_no_longer_be_valid(
    browser, monkeypatch
):
    browser.post(title="A title of some length")
    monkeypatch.setattr(LeafletForm.base_fields["title"], "validators", [refuse_everything])

    assert browser.window().post(title="A title of some length").status_code == 303
    assert browser.window().post("another-key", title="Any other").status_code == 200


def refuse_everything(value):
    raise ValidationError("Nothing is valid any more.")


def test_line_ends_do_not_make_it_another_form(browser):
    browser.post(text="one\r\ntwo")

    assert browser.window().post(text="one\ntwo").status_code == 303


def test_the_csrf_token_does_not_make_it_another_form(browser):
    browser.post(csrfmiddlewaretoken="a" * 64)

    assert browser.window().post(csrfmiddlewaretoken="b" * 64).status_code == 303


# --- Keys ---------------------------------------------------------------------------------------


def test_keys_belong_to_their_user(browser, new_browser):
    browser.post("k", title="Mine")
    other = new_browser()

    assert other.post("k", title="Theirs").status_code == 303
    assert titles() == ["Mine", "Theirs"]
    assert other.messages() == PRINTED


def test_the_key_may_come_from_the_header(browser):
    browser.post(key=None, header="k")

    assert browser.window().post("k").status_code == 303
    assert titles() == ["Hello"]


def test_two_different_keys_get_400_and_nothing_is_done(browser):
    answer = browser.post("k", header="another")

    assert answer.status_code == 400
    assert "two different idempotency keys" in answer.content.decode()
    assert titles() == []


@pytest.mark.parametrize("key", [None, "", "a" * 50, "ü", " k"])
def test_a_bad_key_gets_400_with_the_reason_and_nothing_is_done(browser, key):
    answer = browser.post(key)

    assert answer.status_code == 400
    assert "idempotency key" in answer.content.decode()
    assert titles() == []
    assert not PostedForm.objects.exists()


# --- Validate first, claim second ---------------------------------------------------------------


def test_a_form_with_errors_is_shown_again_and_claims_nothing(browser):
    answer = browser.post("k", title="", text="A long text")

    assert answer.status_code == 200
    assert answer.json()["form"]["text"] == "A long text"
    assert answer.json()["key"] == "k"
    assert "title" in answer.json()["errors"]
    assert not PostedForm.objects.exists()

    assert browser.post("k", title="Mended").status_code == 303
    assert titles() == ["Mended"]


@pytest.mark.parametrize("method", ["get", "head", "put", "delete", "options"])
def test_only_posts_are_taken(browser, method):
    answer = getattr(browser.client, method)("/leaflets/", secure=True)

    assert answer.status_code == 405
    assert answer["Allow"] == "POST"


def test_nobody_posts_without_signing_in(browser, client):
    answer = client.post("/unguarded/", {"title": "Hello", "idempotency_key": "k"}, secure=True)

    assert answer.status_code == 403
    assert titles() == []


def test_the_rest_of_the_address_reaches_the_view(browser):
    browser.url = "/leaflets/corner-shop/"

    assert browser.post().status_code == 303


# --- The same key with other content ------------------------------------------------------------


def test_other_content_under_the_same_key_gets_422_and_changes_nothing(browser):
    browser.post("k", title="First")
    again = browser.window()
    answer = again.post("k", title="Second", text="Their edit")

    assert answer.status_code == 422
    assert titles() == ["First"]
    assert again.messages() == []
    assert answer.json()["form"]["text"] == "Their edit"
    assert answer.json()["used"] == "k"
    assert browser.window().post(answer.json()["key"], title="Second").status_code == 303
    assert titles() == ["First", "Second"]


def test_the_first_answer_is_still_known_after_a_post_with_other_content(browser):
    browser.post("k", title="First")
    browser.window().post("k", title="Second")

    assert browser.window().post("k", title="First").status_code == 303


def test_the_same_key_on_another_path_gets_422(browser):
    browser.post("k")
    other = browser.window()
    other.url = "/leaflets/corner-shop/"

    assert other.post("k").status_code == 422
    assert titles() == ["Hello"]


def test_other_content_with_errors_is_shown_with_its_errors(browser):
    browser.post("k")

    assert browser.window().post("k", title="").status_code == 200


# --- The back button, long after ----------------------------------------------------------------


def forget_the_answer() -> None:
    PostedForm.objects.all().delete()


def test_after_its_answer_has_expired_the_same_form_is_answered_by_what_it_made(browser):
    browser.post("k")
    forget_the_answer()
    again = browser.window().post("k")

    assert again.status_code == 303
    assert titles() == ["Hello"]
    assert PostedForm.objects.count() == 1


def test_after_its_answer_has_expired_other_content_still_gets_422(browser):
    browser.post("k", title="First")
    forget_the_answer()
    again = browser.window()
    answer = again.post("k", title="Second")

    assert answer.status_code == 422
    assert titles() == ["First"]
    assert again.messages() == []
    assert not PostedForm.objects.exists()


# --- Only committed work is remembered ----------------------------------------------------------


def test_a_failure_rolls_everything_back_and_a_retry_does_the_work(browser, during_work):
    def fail(request):
        raise RuntimeError("The paper is out.")

    during_work(fail)
    with pytest.raises(RuntimeError, match="paper"):
        browser.post("k")
    assert titles() == []
    assert not PostedForm.objects.exists()

    during_work(lambda _: None)
    assert browser.post("k").status_code == 303
    assert titles() == ["Hello"]


def test_success_is_not_announced_when_the_commit_fails(browser, during_work):
    def break_the_commit(request):
        # A constraint that PostgreSQL looks at when it commits.
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO idempotency (user_id, idempotency_key, request_fingerprint)"
                " VALUES (gen_random_uuid(), 'of nobody', '')"
            )

    during_work(break_the_commit)
    with pytest.raises(IntegrityError):
        browser.post("k")

    assert titles() == []
    assert browser.messages() == []


@pytest.mark.parametrize("status", [400, 404, 409, 500, 503])
def test_an_answer_that_is_no_success_is_passed_on_and_forgotten(browser, during_work, status):
    during_work(lambda _: HttpResponse("No.", status=status))
    answer = browser.post("k")

    assert (answer.status_code, answer.content) == (status, b"No.")
    assert titles() == []
    assert not PostedForm.objects.exists()


@pytest.mark.parametrize("status", [200, 201, 204, 302, 303])
def test_an_answer_that_is_a_success_is_remembered(browser, during_work, status):
    during_work(lambda _: HttpResponse(status=status))

    assert browser.post("k").status_code == browser.window().post("k").status_code == status
    assert titles() == ["Hello"]


# --- Answers that cannot be given again ---------------------------------------------------------


def test_an_answer_that_streams_is_refused_and_nothing_is_done(browser, during_work):
    during_work(lambda _: StreamingHttpResponse([b"a"]))

    with pytest.raises(CannotBeReplayedError, match="StreamingHttpResponse"):
        browser.post()
    assert titles() == []


def test_an_answer_with_a_csrf_token_is_refused_and_nothing_is_done(browser, during_work):
    during_work(lambda request: HttpResponse(get_token(request)))

    with pytest.raises(CannotBeReplayedError, match="CSRF"):
        browser.post()
    assert titles() == []


def test_a_template_with_a_csrf_token_is_refused_before_the_commit(browser, during_work):
    template = engines["django"].from_string("{% csrf_token %}")
    during_work(lambda request: TemplateResponse(request, template))

    with pytest.raises(CannotBeReplayedError, match="CSRF"):
        browser.post()
    assert titles() == []


TOKEN = "t" * 64


@pytest.mark.parametrize("answer", [{"content": f"a {TOKEN}"}, {"headers": {"X-Back": TOKEN}}])
def test_an_answer_that_repeats_the_posted_csrf_token_is_refused(browser, during_work, answer):
    during_work(lambda _: HttpResponse(**answer))

    with pytest.raises(CannotBeReplayedError, match="CSRF"):
        browser.post(csrfmiddlewaretoken=TOKEN)
    assert titles() == []


def test_a_template_is_finished_before_it_is_saved(browser, during_work):
    template = engines["django"].from_string("{{ word }}")
    during_work(lambda request: TemplateResponse(request, template, {"word": "Done"}))

    assert browser.post().content == browser.window().post().content == b"Done"


def test_a_token_that_was_used_before_the_view_is_no_concern_of_the_answer(browser):
    # Django's own check of the token, on a request like a real browser's.
    window = browser.window(enforce_csrf_checks=True)
    token = "a" * 32
    window.client.cookies["csrftoken"] = token

    assert window.post(csrfmiddlewaretoken=token).status_code == 303
    assert window.post("another", csrfmiddlewaretoken="b" * 32).status_code == 403


def test_work_that_takes_its_own_claim_away_is_refused(browser, during_work):
    during_work(lambda _: forget_the_answer())

    with pytest.raises(BrokenClaimError):
        browser.post()
    assert titles() == []


def test_a_committed_claim_without_an_answer_is_named_and_not_taken_for_one(browser):
    PostedForm.objects.create(
        user=browser.author, idempotency_key="k", request_fingerprint=b"made by other hands"
    )

    with pytest.raises(BrokenClaimError, match="no answer"):
        browser.post("k")


# --- What the work finds ------------------------------------------------------------------------


def setting(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting(%s)", [name])
        return cursor.fetchone()[0]


def test_the_wait_does_not_bound_the_work(browser, during_work, settings):
    settings.IDEMPOTENCY_WAIT_S = 0.25
    found = []
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '77s'")
    during_work(lambda _: found.append(setting("statement_timeout")))
    try:
        browser.post()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET statement_timeout")

    assert found == ["77s"]


BOUNDS = (
    "statement_timeout",
    "client_connection_check_interval",
    "idle_in_transaction_session_timeout",
)


def test_nothing_is_left_on_the_connection_so_it_may_be_shared_behind_a_pooler(browser):
    before = [setting(name) for name in BOUNDS]
    browser.post()

    assert [setting(name) for name in BOUNDS] == before
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
        assert cursor.fetchone() == (0,)


def stored() -> bytes:
    """Everything that the table holds, as text."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT convert_to(idempotency::text, 'UTF8'), response_body FROM idempotency"
        )
        return b"".join(bytes(part) for row in cursor.fetchall() for part in row)
