"""API tokens: shown once, limited to scopes and their owner's permissions."""

import io
import logging
import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from delivery.interface import database_time
from newsletter_site.models import ApiToken
from newsletter_site.tokens.api_tokens import (
    TokenRefusedError,
    create_token,
    is_accepted,
    revoke,
    visible_tokens,
)
from newsletter_site.tokens.authenticate import build_token, hash_token, is_well_formed
from publishing.activity.activity_sentences import plain_sentence_of
from tests.failed_statements import failed_statements
from tests.newsletter_site.api_caller import Program

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def somebody(transactional_db: None) -> Callable[..., Any]:
    def made(username: str, *codenames: str, **facts: Any) -> Any:
        person = get_user_model().objects.create_user(username, is_staff=True, **facts)
        person.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        return person

    return made


@pytest.fixture
def edith(somebody: Callable[..., Any]) -> Any:
    """Create Edith, who may publish."""
    return somebody("edith", "publish_edition")


def load_status(program: Program) -> int:
    return int(program.get("/issues/").status_code)


def test_only_the_hash_of_a_token_is_stored(edith: Any) -> None:
    made = create_token(edith, "the press", ["status"])
    assert re.fullmatch(r"homing_[A-Za-z0-9_-]{43}[0-9a-f]{8}", made.token)
    row = ApiToken.objects.values().get()
    assert bytes(row["hash"]) == hash_token(made.token)
    rest = " ".join(str(value) for name, value in row.items() if name != "hash")
    assert made.token[len("homing_") + 4 :] not in rest
    assert made.token not in str(list(LogEntry.objects.values()))
    assert create_token(edith, "the press", ["status"]).token != made.token


def test_a_mistyped_token_costs_no_query(edith: Any) -> None:
    program = Program(edith)
    good = program.token
    flipped = "a" if good[20] != "a" else "b"
    wrong = [f"{good[:20]}{flipped}{good[21:]}", good[:-1], f"{good}0", "homing_", "x" * 150]
    for program.token in wrong:
        assert not is_well_formed(program.token)
        with CaptureQueriesContext(connection) as queries:
            assert load_status(program) == 401
        assert len(queries) == 0
    program.token = build_token("a" * 43)  # One query looks for the hash of the token.
    with CaptureQueriesContext(connection) as queries:
        assert load_status(program) == 401
    assert len(queries) == 1


def test_a_missing_token_gets_401_with_the_scheme(edith: Any) -> None:
    program = Program(edith)
    program.client.force_login(edith)  # A session does not replace a token.
    for header in ("", "Basic ZWRpdGg6eA==", "Bearer", "Bearer ", "Token x"):
        headers = {"Authorization": header} if header else {}
        answer = program.client.get("/api/v1/issues/", secure=True, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="homing"'
        assert answer.json()["type"] == "urn:homing:problem:not-signed-in"
        assert "Set-Cookie" not in answer.headers


def test_a_revoked_token_is_refused(edith: Any) -> None:
    program = Program(edith)
    assert load_status(program) == 200
    revoke(program.row.pk, edith.pk, among=visible_tokens(edith))
    assert load_status(program) == 401


def test_a_user_cannot_revoke_another_users_token(edith: Any, somebody: Callable[..., Any]) -> None:
    program = Program(edith)
    other = somebody("basil", "publish_edition")
    with pytest.raises(TokenRefusedError):
        revoke(program.row.pk, other.pk, among=visible_tokens(other))
    assert load_status(program) == 200


def test_an_expired_token_is_refused(edith: Any) -> None:
    program = Program(edith)
    ApiToken.objects.update(expires_at=Now() + timedelta(days=1))
    assert load_status(program) == 200
    ApiToken.objects.update(
        created_at=F("created_at") - timedelta(days=9), expires_at=Now() - timedelta(seconds=1)
    )
    assert load_status(program) == 401


@pytest.mark.parametrize("lost", ["is_active", "is_staff"])
def test_a_user_who_may_not_sign_in_loses_their_tokens(edith: Any, lost: str) -> None:
    program = Program(edith)
    assert load_status(program) == 200
    setattr(edith, lost, False)
    edith.save()
    assert load_status(program) == 401


def test_a_lost_permission_is_lost_for_tokens_at_once(edith: Any) -> None:
    program = Program(edith)
    assert load_status(program) == 200
    edith.user_permissions.clear()
    answer = program.get("/issues/")
    assert answer.status_code == 403
    assert "a permission that the owner of this token lacks" in answer.json()["detail"]


def test_a_token_is_limited_to_its_scopes(edith: Any) -> None:
    program = Program(edith, "status")
    assert load_status(program) == 200
    answer = program.post("/issues/", {"title": "Swifts", "text": "Gone."})
    assert answer.status_code == 403
    assert 'error="insufficient_scope", scope="publish"' in answer.headers["WWW-Authenticate"]


def test_a_token_needs_its_owners_permissions(edith: Any) -> None:
    with pytest.raises(TokenRefusedError, match="edith lacks the permission for “readers”"):
        create_token(edith, "a", ["readers"])
    with pytest.raises(TokenRefusedError, match="“everything” is not a scope"):
        create_token(edith, "a", ["everything"])
    with pytest.raises(TokenRefusedError, match="Choose what the token is for"):
        create_token(edith, "a", [])


def test_a_form_posted_twice_creates_one_token(edith: Any) -> None:
    form = uuid.uuid4()
    made = create_token(edith, "the press", ["status"], form_key=form)
    with failed_statements() as failed, pytest.raises(TokenRefusedError, match="already sent"):
        create_token(edith, "the press", ["status"], form_key=form)
    assert ApiToken.objects.get() == made.row
    assert LogEntry.objects.count() == 1
    assert failed == []


def test_the_last_use_is_recorded_to_the_minute(edith: Any) -> None:
    program = Program(edith)
    load_status(program)
    noted = ApiToken.objects.get().last_used_at
    assert noted is not None
    load_status(program)
    assert ApiToken.objects.get().last_used_at == noted
    ApiToken.objects.update(last_used_at=F("last_used_at") - timedelta(seconds=61))
    load_status(program)
    assert ApiToken.objects.get().last_used_at > noted
    assert is_accepted(ApiToken.objects.get(), database_time())


def test_creating_and_revoking_are_in_the_activity_log(edith: Any) -> None:
    program = Program(edith, "status", "publish")
    revoke(program.row.pk, edith.pk, among=visible_tokens(edith))
    revoke(program.row.pk, edith.pk, among=visible_tokens(edith))
    token = str(program.row)
    assert [plain_sentence_of(line) for line in LogEntry.objects.order_by("pk")] == [
        f"edith created {token} of edith. Scopes: publish, status.",
        f"edith revoked {token} of edith.",
    ]


def test_tokens_are_not_logged(edith: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    program = Program(edith)
    load_status(program)
    program.post("/issues/", b"{")
    for kind, secure in (("Bearer", False), ("Basic", True)):
        headers = {"Authorization": f"{kind} {program.token}"}
        program.client.get("/api/v1/issues/", secure=secure, headers=headers)
    assert program.token[7:] not in caplog.text
    # Each call wrote a log line, which must not contain the token.
    answered = [line.getMessage()[-3:] for line in caplog.records if "was answered" in line.msg]
    assert answered == ["200", "400", "403", "401"]


def test_the_command_creates_lists_and_revokes(edith: Any) -> None:
    out, err = io.StringIO(), io.StringIO()
    call_command(
        *("token", "create", "edith", "--name", "the press", "--scope", "status"),
        stdout=out,
        stderr=err,
    )
    token = out.getvalue().splitlines()[-1]
    assert is_well_formed(token)
    assert token not in err.getvalue()
    listed = io.StringIO()
    call_command("token", "list", stdout=listed)
    assert "edith  “the press”  status  Never used. Does not expire." in listed.getvalue()
    assert token not in listed.getvalue()
    call_command("token", "revoke", str(ApiToken.objects.get().pk), stdout=io.StringIO())
    assert ApiToken.objects.get().revoked_at is not None
    assert "on the command line" in plain_sentence_of(LogEntry.objects.latest("pk"))
    for message, wrong in (
        ("No author has the user name “x”", ("create", "x", "--name", "a", "--scope", "status")),
        ("edith lacks the permission", ("create", "edith", "--name", "a", "--scope", "readers")),
        ("Token 7 does not exist", ("revoke", "7")),
    ):
        with pytest.raises(CommandError, match=message):
            call_command("token", *wrong)
