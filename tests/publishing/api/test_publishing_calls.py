"""A program publishes through the API once per key, even if it repeats calls."""

import json
import uuid
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.db.models.functions import Now

from delivery.models import Delivery, Edition, Newsletter
from idempotency.claim import slot_locks
from idempotency.models import PostedForm
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.editions.versions import versions_of
from publishing.publish.publish_edition import publish
from subscribers.models import Subscriber
from tests.newsletter_site.api_caller import Program
from tests.publishing.content_factory import letter
from tests.publishing.schedule_issue import LISBON, tomorrow

pytestmark = pytest.mark.django_db(transaction=True)

SWIFTS = {"title": "Swifts", "text": "Dear {{ name|reader }}, they have gone."}


@pytest.fixture
def program(author: Any) -> Program:
    """Return a program that calls the API with a token of Edith's."""
    return Program(author)


@pytest.fixture
def held(author: Any, three_readers: list[Subscriber]) -> Edition:
    """Publish a letter to Ada, Bram and Cleo, with a hold of one minute."""
    return publish(author.pk, "k", letter(), hold_s=60).edition


def editions() -> int:
    return Edition.objects.filter(kind=Edition.Kind.NEWSLETTER).count()


def problem_of(answer: Any) -> str:
    assert answer.headers["Content-Type"] == "application/problem+json"
    content = answer.json()
    assert content["status"] == answer.status_code
    assert content["detail"].endswith((".", "?"))
    return str(content["type"]).removeprefix("urn:homing:problem:")


def test_an_issue_is_published_to_every_confirmed_reader(
    program: Program, three_readers: list[Subscriber]
) -> None:
    answer = program.post("/issues/", {**SWIFTS, "preheader": "Quite."})

    assert answer.status_code == 201
    content = answer.json()
    assert (content["version"], content["audience"], content["created"]) == (1, 3, True)
    assert answer.headers["Location"] == f"/api/v1/issues/{content['issue']}/?version=1"
    assert Delivery.objects.filter(issue=content["issue"]).count() == 3
    edition = Edition.objects.get(issue=content["issue"])
    assert (edition.author_id, edition.title) == (program.person.pk, "Swifts")
    assert edition.preview_text == "Quite."
    assert LogEntry.objects.get(user=program.person, object_id=content["issue"])


def test_repeated_call_replays_the_first_response_byte_for_byte(
    program: Program, three_readers: list[Subscriber]
) -> None:
    first = program.post(
        "/issues/", {**SWIFTS, "text": "Dear {{ name|reader }},\nthey left."}, key="october"
    )
    reordered = dict(reversed({**SWIFTS, "text": "Dear {{ name|reader }},\r\nthey left."}.items()))
    again = program.post("/issues/", json.dumps(reordered, indent=8).encode(), key="october")

    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert (
        again.headers.items()
        >= {name: first.headers[name] for name in ("Location", "Content-Type")}.items()
    )
    assert editions() == 1


def test_other_content_under_the_key_is_refused_with_link(
    program: Program,
) -> None:
    first = program.post("/issues/", SWIFTS, key="october")
    other = program.post("/issues/", {**SWIFTS, "title": "Swallows"}, key="october")

    assert other.status_code == 422
    assert problem_of(other) == "other-content"
    assert other.json()["made"] == first.headers["Location"]
    assert editions() == 1


@pytest.mark.parametrize("same", [True, False])
def test_key_with_expired_response_is_answered_from_the_edition(
    program: Program, same: bool
) -> None:
    first = program.post("/issues/", SWIFTS, key="october")
    PostedForm.objects.all().delete()
    again = program.post("/issues/", SWIFTS if same else {**SWIFTS, "text": "b"}, key="october")

    assert editions() == 1
    if same:
        assert again.status_code == 200
        assert again.json() == {**first.json(), "created": False}
    else:
        assert again.status_code == 422
        assert again.json()["made"] == first.headers["Location"]


def test_invalid_call_names_its_errors_and_claims_no_key(program: Program) -> None:
    flawed = {"title": "Swifts {{ surname }}", "html": "<p>{{ nane }}</p>", "text": ""}
    answer = program.post("/issues/", flawed, key="october")

    assert answer.status_code == 400
    assert problem_of(answer) == "not-valid"
    assert [error["field"] for error in answer.json()["errors"]] == ["title", "html"]
    assert not PostedForm.objects.exists()
    assert program.post("/issues/", SWIFTS, key="october").status_code == 201


def test_fifth_concurrent_call_must_retry(
    program: Program, settings: Any, database_url: str
) -> None:
    import psycopg

    with psycopg.connect(database_url) as others:
        for number in slot_locks(program.person.pk, "october"):
            others.execute("SELECT pg_advisory_xact_lock(%s)", [number])
        answer = program.post("/issues/", SWIFTS, key="october")
        assert answer.status_code == 409
        assert problem_of(answer) == "still-working"
        assert answer.headers["Retry-After"] == "1"
        others.rollback()
    assert program.post("/issues/", SWIFTS, key="october").status_code == 201


def test_a_correction_is_the_next_version(
    program: Program, three_readers: list[Subscriber]
) -> None:
    issue = program.post("/issues/", SWIFTS).json()["issue"]
    answer = program.post(f"/issues/{issue}/versions/", {**SWIFTS, "version": 2, "text": "Back."})
    assert answer.status_code == 201
    assert versions_of(uuid.UUID(issue)).count() == 2

    # Version 2 exists already. A call with the same text gets the first answer, a call with other
    # text is refused, and nothing is sent.
    again = program.post(f"/issues/{issue}/versions/", {**SWIFTS, "version": 2, "text": "Back."})
    assert (again.status_code, again.json()["created"]) == (200, False)
    other = program.post(f"/issues/{issue}/versions/", {**SWIFTS, "version": 2})
    assert (other.status_code, problem_of(other)) == (422, "other-content")
    far = program.post(f"/issues/{issue}/versions/", {**SWIFTS, "version": 7})
    assert (far.status_code, problem_of(far)) == (409, "not-now")
    none = program.post(f"/issues/{uuid.uuid4()}/versions/", {**SWIFTS, "version": 2})
    assert (none.status_code, problem_of(none)) == (404, "not-found")
    assert versions_of(uuid.UUID(issue)).count() == 2


def test_a_program_corrects_the_archive_or_reaches_the_rest(
    program: Program, three_readers: Any
) -> None:
    made = program.post("/issues/", {**SWIFTS, "goes_to": "nobody"}).json()
    versions = f"/issues/{made['issue']}/versions/"

    rest = program.post(versions, {**SWIFTS, "version": 2, "goes_to": "unreached"}).json()
    again = program.post(versions, {**SWIFTS, "version": 3, "goes_to": "nobody"}).json()

    assert [one["audience"] for one in (made, rest, again)] == [0, 3, 0]


def test_issue_is_scheduled_for_a_local_time_in_a_zone(
    program: Program, three_readers: list[Subscriber]
) -> None:
    day, zone = tomorrow("UTC").local, "UTC"
    answer = program.post("/issues/", {**SWIFTS, "at": day, "zone": zone}, key="october")
    assert answer.status_code == 201, answer.content
    edition = Edition.objects.get(issue=answer.json()["issue"])
    assert (edition.control, edition.scheduled_zone) == ("scheduled", zone)
    assert answer.json()["audience"] == 0
    past = program.post("/issues/", {**SWIFTS, "at": "2020-01-01T07:30"})
    assert [error["field"] for error in past.json()["errors"]] == ["at"]
    day = tomorrow("UTC").local.replace("T", " ")
    there, change = f"/issues/{edition.issue_id}/reschedule/?version=1", {"at": day, "zone": LISBON}
    moved = program.post(there, change, key="move")
    assert (moved.status_code, moved.json()["state"]) == (200, "scheduled")
    assert program.post(there, change, key="move").json() == moved.json()
    edition.refresh_from_db()
    assert edition.scheduled_zone == LISBON
    refused = program.post(there, {"at": "2020-01-01T07:30"})
    assert [error["field"] for error in refused.json()["errors"]] == ["at"]
    lone = program.post("/issues/", {**SWIFTS, "zone": zone})
    assert [error["field"] for error in lone.json()["errors"]] == ["zone"]


def test_api_call_without_required_approval_is_refused(program: Program, author: Any) -> None:
    newsletter = Newsletter.objects.get_current()
    newsletter.second_person = True
    newsletter.save()
    answer = program.post("/issues/", SWIFTS)
    assert (answer.status_code, problem_of(answer)) == (409, "takes-two")
    assert editions() == 0
    assert not PostedForm.objects.exists()


def test_the_status_has_exactly_the_keys_of_the_command(
    program: Program, held: Edition, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("issue_status", str(held.issue_id))
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    answer = program.get(f"/issues/{held.issue_id}/")
    assert answer.status_code == 200
    assert list(answer.json()) == list(printed)
    assert answer.json() == printed
    assert program.get(f"/issues/{held.issue_id}/?version=1").json() == printed
    assert program.get(f"/issues/{held.issue_id}/?version=2").status_code == 404


def test_api_call_runs_each_edition_action_once(program: Program, held: Edition) -> None:
    address = f"/issues/{held.issue_id}"
    paused = program.post(f"{address}/pause/?version=1", key="p")
    assert (paused.status_code, paused.json()["state"]) == (200, "paused")
    assert paused.json()["done"] == "Paused. 3 copies wait until you resume."
    assert program.post(f"{address}/resume/?version=1").json()["state"] == "held"
    # If the earlier call is repeated, it gets its first answer, and nothing is paused again.
    assert program.post(f"{address}/pause/?version=1", key="p").content == paused.content
    assert program.get(f"{address}/").json()["state"] == "held"
    lines = LogEntry.objects.filter(object_id=str(held.issue_id)).order_by("pk")
    assert [plain_sentence_of(line) for line in lines][1:] == [
        "Edith Marlow paused Swifts leave without saying goodbye.",
        "Edith Marlow resumed Swifts leave without saying goodbye.",
    ]


def test_impossible_action_returns_its_reason_and_frees_the_key(
    program: Program, held: Edition
) -> None:
    refused = program.post(f"/issues/{held.issue_id}/resume/?version=1", key="r")
    assert (refused.status_code, problem_of(refused)) == (409, "not-now")
    trail = LogEntry.objects.filter(object_id=str(held.issue_id))
    assert trail.count() == 1  # only the publication
    program.post(f"/issues/{held.issue_id}/pause/?version=1")
    assert program.post(f"/issues/{held.issue_id}/resume/?version=1", key="r").status_code == 200


def test_body_of_a_call_without_body_is_refused(program: Program, held: Edition) -> None:
    address = f"/issues/{held.issue_id}/cancel/?version=1"

    refused = program.post(address, {"version": 1})

    assert refused.status_code == 400
    assert "has no body" in refused.json()["detail"]
    assert Edition.objects.get(pk=held.pk).control == "running"
    assert program.post(address, {}).status_code == 200


@pytest.mark.parametrize("action", ["cancel", "resume"])
def test_an_action_on_an_edition_requires_its_version(
    program: Program, held: Edition, action: str
) -> None:
    before = program.get(f"/issues/{held.issue_id}/").json()

    refused = program.post(f"/issues/{held.issue_id}/{action}/")

    assert (refused.status_code, problem_of(refused)) == (400, "not-valid")
    assert refused.json()["errors"] == [{"field": "version", "detail": "This field is missing."}]
    assert program.get(f"/issues/{held.issue_id}/").json() == before


def test_dropped_copies_return_410_instead_of_an_empty_list(
    program: Program, held: Edition
) -> None:
    Edition.objects.filter(pk=held.pk).update(control="cancelled", deliveries_dropped_at=Now())

    answer = program.get(f"/issues/{held.issue_id}/copies/")

    assert answer.status_code == 410
    assert problem_of(answer) == "gone"


def test_copies_come_a_page_at_a_time_and_each_once(program: Program, held: Edition) -> None:
    address = f"/issues/{held.issue_id}/copies/?limit=2"
    first = program.get(address).json()
    rest = program.get(f"{address}&after={first['next']}").json()
    assert rest["next"] is None
    seen = [copy["address"] for copy in first["copies"] + rest["copies"]]
    assert sorted(seen) == [f"{name}@posthouse.example" for name in ("ada", "bram", "cleo")]
    assert {copy["outcome"] for copy in first["copies"]} == {"waiting"}
    assert program.get(f"{address}&outcome=sent").json()["copies"] == []


def test_issues_are_listed_newest_first_a_page_at_a_time(program: Program, author: Any) -> None:
    made = [publish(author.pk, f"k{n}", letter(f"Issue {n}"), hold_s=0).edition for n in range(3)]
    first = program.get("/issues/?limit=2").json()
    rest = program.get(f"/issues/?limit=2&before={first['next']}").json()
    assert [issue["title"] for issue in first["issues"] + rest["issues"]] == [
        edition.title for edition in reversed(made)
    ]
    assert rest["next"] is None


def test_receipt_is_available_once_the_issue_is_finished(
    program: Program, author: Any, three_readers: list[Subscriber]
) -> None:
    issue = program.post("/issues/", {**SWIFTS, "hold_s": 90}).json()["issue"]
    edition = Edition.objects.get(issue=issue)
    assert round((edition.held_until - edition.published_at).total_seconds()) == 90
    early = program.get(f"/issues/{edition.issue_id}/receipt/")
    assert (early.status_code, problem_of(early)) == (409, "not-now")
    program.post(f"/issues/{edition.issue_id}/cancel/?version=1")
    receipt = program.get(f"/issues/{edition.issue_id}/receipt/").json()
    assert receipt["receipt"]["counts"]["withdrawn"] == 3
    assert receipt["signature"]
