"""`./homing accounts`: list, add, group, disable and enable accounts."""

import io
import json
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client

from publishing.activity.activity_sentences import plain_sentence_of
from tests.newsletter_site.api_caller import Program

pytestmark = pytest.mark.django_db(transaction=True)
DESK = "/admin/newsletters/issues/"


def accounts(*words: str) -> Any:
    """Run the command, and return the last line of its output."""
    out = io.StringIO()
    call_command("accounts", *words, stdout=out, stderr=io.StringIO())
    return json.loads(out.getvalue().splitlines()[-1])


def test_an_added_account_has_its_groups_and_may_sign_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("swifts over the hedge\nmore\n"))
    added = accounts("add", "ines", "--group", "Writers", "--password-stdin")
    assert (added["groups"], added["may_sign_in"]) == (["Writers"], True)
    ines = get_user_model().objects.get(username="ines")
    assert ines.check_password("swifts over the hedge")
    assert ines.has_perm("publishing.write_draft")

    assert accounts("add", "ola", "--email", "\u202aola@a.org\u202c")["has_password"] is False
    assert get_user_model().objects.get(username="ola").email == "ola@a.org"
    changed = accounts("group", "ines", "--add", "Operators", "--remove", "Writers")
    assert changed["groups"] == ["Operators"]
    listed = accounts("list")["accounts"]
    assert [(one["username"], one["groups"]) for one in listed] == [
        ("ines", ["Operators"]),
        ("ola", []),
    ]
    assert [plain_sentence_of(entry) for entry in LogEntry.objects.order_by("pk")] == [
        "An operator added the account ines. This was done on the command line.",
        "An operator added the account ola. This was done on the command line.",
        "An operator changed the groups of ines. This was done on the command line.",
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["add", "ines", "--group", "Editors"], "There is no group “Editors”. Use one of: "),
        (["add", "edith"], "Nothing was added. A user with that username already exists."),
        (["add", "two words"], "Nothing was added. Enter a valid username."),
        (["add", "ines", "--email", "ines"], "Nothing was added. Enter a valid email address."),
        (["add", "ines", "--email", "i\u200bnes@a.org"], "Nothing was added. Enter a valid email"),
        (["add", "ines", "--password-stdin"], "Nothing was added. This password is too short."),
        (["group", "edith"], "Nothing to change. Give --add GROUP or --remove GROUP."),
        (["disable", "nobody"], "No author has the user name “nobody”."),
    ],
)
def test_a_refused_change_gets_one_sentence(
    words: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_user_model().objects.create_user("edith")
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    with pytest.raises(CommandError) as refused:
        accounts(*words)
    assert str(refused.value).startswith(sentence)
    assert get_user_model().objects.count() == 1
    assert not LogEntry.objects.exists()


def test_a_disabled_account_loses_sessions_and_tokens() -> None:
    edith = get_user_model().objects.create_superuser("edith", password="a long password")
    with pytest.raises(CommandError, match="no other account could publish"):
        accounts("disable", "edith")
    get_user_model().objects.create_superuser("anna", password="a long password")
    window = Client()
    window.force_login(edith, backend="newsletter_site.one_query_permissions.PermissionsBackend")
    token = Program(edith, "status")

    def answers() -> tuple[int, int]:
        return window.get(DESK, secure=True).status_code, token.get("/issues/").status_code

    assert answers() == (200, 200)
    for _ in range(2):  # The repeated command adds no line to the log.
        assert accounts("disable", "edith")["is_active"] is False
    assert answers() == (302, 401)
    assert accounts("enable", "edith")["may_sign_in"] is True
    assert answers() == (200, 200)
    codes = [json.loads(entry.change_message)["code"] for entry in LogEntry.objects.order_by("pk")]
    assert codes == ["make_token", "disable_account", "enable_account"]
