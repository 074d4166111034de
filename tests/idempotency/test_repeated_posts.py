"""A second post of the same form, after the first has ended."""

import pytest
from django.contrib import messages
from django.contrib.messages import get_messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.http import HttpResponse, StreamingHttpResponse
from django.middleware.csrf import get_token
from django.template import engines
from django.template.response import TemplateResponse
from django.utils.safestring import SafeData, mark_safe

from idempotency.claim import slot_locks
from idempotency.models import PostedForm
from idempotency.saved_response import (
    BrokenClaimError,
    CannotBeReplayedError,
    SavedResponse,
    save_response,
)
from tests.idempotency.one_form_site import LeafletForm, titles

pytestmark = pytest.mark.django_db(transaction=True)

PRINTED = [[25, "The leaflet is printed.", "paper success"]]


def all_headers(response):
    """Return every header of a response except its cookies."""
    return sorted(response.items())


def test_second_post_replays_the_first_answer(window):
    again = window.another()
    first, second = window.post(), again.post()

    assert titles() == ["Hello"]
    assert window.messages() == again.messages() == PRINTED
    assert first.status_code == second.status_code == 303
    assert first.content == second.content == "Grüße".encode("latin-1")
    assert all_headers(first) == all_headers(second)
    assert second["Link"] == "</a>; rel=next, </b>; rel=prev"
    assert second["Content-Type"] == "text/plain; charset=latin-1"


def test_a_fallback_secret_key_still_identifies_a_form(window, settings):
    first = window.post()
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key, made after the first one leaked"
    assert window.post().content == first.content
    assert window.post(title="Goodbye").status_code == 422
    assert titles() == ["Hello"]


def test_a_replayed_message_stays_html_or_plain_text(window, during_work):
    def say(request):
        messages.info(request, mark_safe("<b>bold</b>"))
        messages.info(request, "<b>plain</b>")

    during_work(say)
    window.post()
    again = window.another()
    again.post()

    def is_html():
        """Return whether each message on the next page is marked as HTML."""
        request = again.next_page().wsgi_request
        return [isinstance(m.message, SafeData) for m in get_messages(request)]

    assert is_html() == [False, True, False]


def test_shown_messages_are_not_replayed_and_older_ones_stay(window, during_work):
    window.post("an-older-key")
    during_work(
        lambda request: HttpResponse(", ".join(str(message) for message in get_messages(request)))
    )
    first, again = window.post(), window.another()
    second = again.post()
    assert first.content == second.content == b"The leaflet is printed."
    assert again.messages() == []
    assert window.messages() == PRINTED


def test_a_removed_header_stays_removed_in_a_replay(window, during_work):
    def answer(request):
        response = HttpResponse(b"\x00\xff")
        del response["Content-Type"]
        return response

    during_work(answer)
    first, second = window.post(), window.another().post()

    assert all_headers(first) == all_headers(second)
    assert not second.has_header("Content-Type")
    assert second.content == b"\x00\xff"


def test_cookies_and_csrf_headers_are_not_saved(window, during_work):
    first, second = window.post(), window.another().post()

    assert first.cookies["printed"].value == "yes"
    assert "printed" not in second.cookies
    assert b"printed=yes" not in stored()
    during_work(lambda _: HttpResponse(headers={"Set-Cookie": "a=b", "X-CSRFToken": "token"}))
    window.post("k")
    second = window.another().post("k")
    assert not second.has_header("Set-Cookie")
    assert not second.has_header("X-CSRFToken")


def test_a_replay_needs_no_slot_and_no_transaction(window, onlooker):
    window.post("k")
    for number in slot_locks(window.author.pk, "k"):
        onlooker.one("SELECT pg_advisory_lock(%s)::text", number)
    assert window.another().post("k").status_code == 303


def test_a_form_that_became_invalid_is_still_replayed(window, monkeypatch):
    window.post(title="A title of some length")
    monkeypatch.setattr(LeafletForm.base_fields["title"], "validators", [refuse_everything])
    assert window.another().post(title="A title of some length").status_code == 303
    assert window.another().post("another-key", title="Any other").status_code == 200


def refuse_everything(value):
    raise ValidationError("Nothing is valid any more.")


def test_keys_belong_to_their_user(window, sign_in):
    window.post("k", title="Mine")
    other = sign_in()
    assert other.post("k", title="Theirs").status_code == 303
    assert titles() == ["Mine", "Theirs"]
    assert other.messages() == PRINTED


@pytest.mark.parametrize(("key", "header"), [("k", "another"), (None, None), (" k", None)])
def test_an_invalid_key_gets_400_with_the_reason(window, key, header):
    answer = window.post(key, header=header)
    assert answer.status_code == 400
    assert "idempotency key" in answer.content.decode()
    assert titles() == []
    assert not PostedForm.objects.exists()


def test_a_form_with_errors_is_shown_again_and_claims_nothing(window):
    answer = window.post("k", title="", text="A long text")

    assert answer.status_code == 200
    assert answer.json()["form"]["text"] == "A long text"
    assert answer.json()["key"] == "k"
    assert "title" in answer.json()["errors"]
    assert not PostedForm.objects.exists()

    assert window.post("k", title="Mended").status_code == 303
    assert titles() == ["Mended"]
    assert window.another().post("k", title="").status_code == 200


def test_only_posts_of_signed_in_users_are_accepted(window, client):
    for method in ("get", "head", "put", "delete", "options"):
        answer = getattr(window.client, method)("/leaflets/")
        assert (answer.status_code, answer["Allow"]) == (405, "POST")
    answer = client.post("/unguarded/", {"title": "Hello", "idempotency_key": "k"})
    assert answer.status_code == 403
    assert titles() == []


def test_other_content_under_the_same_key_gets_422(window):
    window.post("k", title="First")
    again = window.another()
    answer = again.post("k", title="Second", text="Their edit")

    assert answer.status_code == 422
    assert titles() == ["First"]
    assert again.messages() == []
    assert answer.json()["form"]["text"] == "Their edit"
    assert answer.json()["used"] == "k"
    # The answer of the first post is still saved.
    assert window.another().post("k", title="First").status_code == 303
    assert window.another().post(answer.json()["key"], title="Second").status_code == 303
    assert titles() == ["First", "Second"]


def test_the_same_key_on_another_path_gets_422(window):
    window.post("k")
    other = window.another()
    other.url = "/leaflets/corner-shop/"
    assert other.post("k").status_code == 422
    assert titles() == ["Hello"]
    assert other.post("another").status_code == 303


def forget_the_answer() -> None:
    PostedForm.objects.all().delete()


def test_a_form_is_still_recognised_after_its_answer_expired(window):
    window.post("k", title="First")
    forget_the_answer()
    again = window.another()
    answer = again.post("k", title="Second")

    assert answer.status_code == 422
    assert again.messages() == []
    assert not PostedForm.objects.exists()
    assert again.post("k", title="First").status_code == 303
    assert titles() == ["First"]
    assert PostedForm.objects.count() == 1


def test_a_failure_rolls_back_and_a_retry_works(window, during_work):
    def fail(request):
        raise RuntimeError("The paper is out.")

    during_work(fail)
    with pytest.raises(RuntimeError, match="paper"):
        window.post("k")
    assert titles() == []
    assert not PostedForm.objects.exists()

    during_work(lambda _: None)
    assert window.post("k").status_code == 303
    assert titles() == ["Hello"]


def test_a_failed_commit_shows_no_success_message(window, during_work):
    def break_the_commit(request):
        # PostgreSQL checks this deferred constraint at commit.
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO idempotency (user_id, idempotency_key, request_fingerprint)"
                " VALUES (gen_random_uuid(), 'of nobody', '')"
            )

    during_work(break_the_commit)
    with pytest.raises(IntegrityError):
        window.post("k")

    assert titles() == []
    assert window.messages() == []


@pytest.mark.parametrize("status", [400, 503])
def test_an_unsuccessful_response_is_returned_and_not_saved(window, during_work, status):
    during_work(lambda _: HttpResponse("No.", status=status))
    answer = window.post("k")
    assert (answer.status_code, answer.content) == (status, b"No.")
    assert titles() == []
    assert not PostedForm.objects.exists()


@pytest.mark.parametrize("status", [200, 201, 302])
def test_a_successful_response_is_saved(window, during_work, status):
    template = engines["django"].from_string("{{ word }}")
    during_work(
        lambda request: TemplateResponse(request, template, {"word": "Done"}, status=status)
    )
    first, second = window.post("k"), window.another().post("k")
    assert first.status_code == second.status_code == status
    assert first.content == second.content == b"Done"
    assert titles() == ["Hello"]


TOKEN = "t" * 64
WITH_A_TOKEN = {
    "the token of the session": lambda request: HttpResponse(get_token(request)),
    "a template with a token": lambda request: TemplateResponse(
        request, engines["django"].from_string("{% csrf_token %}")
    ),
    "the posted token": lambda _: HttpResponse(f"a {TOKEN}"),
    "the posted token in a header": lambda _: HttpResponse(headers={"X-Back": TOKEN}),
}


@pytest.mark.parametrize("kind", WITH_A_TOKEN)
def test_a_response_with_a_csrf_token_is_refused(window, during_work, kind):
    during_work(WITH_A_TOKEN[kind])
    with pytest.raises(CannotBeReplayedError, match="CSRF"):
        window.post(csrfmiddlewaretoken=TOKEN)
    assert titles() == []


def test_a_streaming_response_is_refused(window, during_work):
    during_work(lambda _: StreamingHttpResponse([b"a"]))
    with pytest.raises(CannotBeReplayedError, match="StreamingHttpResponse"):
        window.post()
    assert titles() == []


def test_an_earlier_csrf_token_and_message_level_are_respected(window):
    window.url = "/leaflets/quietly/"
    first = window.post()
    assert first.status_code == 303
    assert first.cookies["csrftoken"].value
    assert window.messages() == []
    assert PostedForm.objects.get().messages == []


def test_work_that_deletes_its_claim_is_refused(window, during_work):
    during_work(lambda _: forget_the_answer())
    with pytest.raises(BrokenClaimError):
        window.post()
    assert titles() == []


def test_work_that_answers_its_own_claim_is_refused(window, during_work):
    def answer(request):
        save_response(request.user.pk, "a-key", SavedResponse(303, (), b"", ()))

    during_work(answer)

    with pytest.raises(BrokenClaimError):
        window.post()
    assert titles() == []


def test_a_committed_claim_without_a_response_is_an_error(window):
    PostedForm.objects.create(
        user=window.author, idempotency_key="k", request_fingerprint=b"made by other hands"
    )
    with pytest.raises(BrokenClaimError, match="without a response"):
        window.post("k")


def test_a_post_inside_another_transaction_is_refused(window):
    # Other posts would have to wait until the outer transaction ends, and its rollback could undo
    # a post that was already answered.
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        window.post()
    assert titles() == []


def test_the_limit_of_the_wait_does_not_limit_the_work(window, during_work, settings):
    settings.IDEMPOTENCY_WAIT_S = 0.25
    found = []

    def look(_):
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('statement_timeout')")
            found.append(cursor.fetchone()[0])

    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '77s'")
    during_work(look)
    try:
        window.post()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET statement_timeout")

    assert found == ["77s"]


def bounds_of_the_connection():
    """Return the connection's time limits, and where each value was set."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, setting, source FROM pg_settings WHERE name IN ("
            "'statement_timeout', 'client_connection_check_interval',"
            " 'idle_in_transaction_session_timeout') ORDER BY name"
        )
        return cursor.fetchall()


def test_a_post_leaves_no_settings_or_locks_on_its_connection(window):
    before = bounds_of_the_connection()
    window.post()

    assert len(before) == 3
    assert bounds_of_the_connection() == before
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
        )
        assert cursor.fetchone() == (0,)


def stored() -> bytes:
    """Return the whole content of the table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT convert_to(idempotency::text, 'UTF8'), response_body FROM idempotency"
        )
        return b"".join(bytes(part) for row in cursor.fetchall() for part in row)
