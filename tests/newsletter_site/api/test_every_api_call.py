"""Every API call: permissions, validation, and the shape of errors."""

import json
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.utils import timezone
from schemathesis.specs.openapi.definitions import OPENAPI_31

from idempotency.models import PostedForm
from newsletter_site.api.openapi_document import document
from newsletter_site.tokens.api_tokens import NAMES, SCOPES
from publishing.actions.edition_actions import ACTIONS, OLD_NAMES
from publishing.api.issue_calls import ActionName, Which
from publishing.models import Export, IssueMove
from publishing.progress.reader_outcomes import LISTS
from publishing.publish.publish_edition import publish
from subscribers.api import reader_calls
from subscribers.desk import reader_actions
from subscribers.models import ReaderFieldDefinition, Tag
from tests.newsletter_site.api_caller import API, Program
from tests.publishing.content_factory import letter
from tests.subscribers.factories import SubscriberFactory, SubscriberImportFactory

pytestmark = pytest.mark.django_db(transaction=True)

PUBLISH, OPERATE, LOOK, WRITE = "publish_edition", "operate_sending", "view_issue", "write_draft"
MANAGE = "manage_readers"
OF_READERS = {*reader_actions.ACTIONS, *reader_actions.OLD_NAMES}

# For each scope: its operations, and permissions of which a user needs at least one.
OF_SCOPES = {
    "publish": (
        """publishIssue publishVersion rescheduleIssue uploadPastIssues getPastIssues getWelcome
        putWelcome""",
        {PUBLISH},
    ),
    "operate": ("actOnIssue", {PUBLISH, OPERATE}),
    "status": ("listIssues issueStatus issueReceipt", {PUBLISH, OPERATE, LOOK, WRITE}),
    "copies": ("listCopies", {PUBLISH, OPERATE, MANAGE}),
    "readers": (
        """listReaders lookUpReader addReader editReader changeTagsOfReaders getReader exportReader
        actOnReader liftBounceOfReader correctAddress listFields addField getField editField
        deleteField listTags addTag getTag editTag deleteTag requestExport getExport
        downloadExport""",
        {MANAGE},
    ),
    "imports": (
        "listImports uploadImport getImport importRejects decideImport undoImport dropImport",
        {MANAGE},
    ),
}
TABLE = {
    name: (scope, permissions)
    for scope, (names, permissions) in OF_SCOPES.items()
    for name in names.split()
}
PERMISSIONS = (PUBLISH, OPERATE, LOOK, WRITE, MANAGE)

BODIES: dict[str, Any] = {
    "publishIssue": {"title": "Swifts", "text": "Gone."},
    "publishVersion": {"title": "Swifts", "text": "Gone.", "version": 2},
    "rescheduleIssue": {"at": "2026-10-25T07:30"},
    "putWelcome": {"on": True, "title": "Hello", "text": "Welcome."},
    "lookUpReader": {"address": "ada@posthouse.example.org"},
    "addReader": {"address": "ada@posthouse.example.org"},
    "editReader": {},
    "changeTagsOfReaders": {"readers": [17]},
    "liftBounceOfReader": {"reason": "It was wrong."},
    "correctAddress": {"address": "new@posthouse.example.org"},
    "addField": {"label": "City"},
    "editField": {},
    "addTag": {"name": "Fish"},
    "editTag": {},
    "decideImport": {"confirmed": False},
}


def operations() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Return the name, method, address and OpenAPI description of each operation."""
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield operation["operationId"], method, path, operation


OPERATIONS = {name: (method, path, operation) for name, method, path, operation in operations()}
CHANGING = sorted(
    name
    for name, (method, _, _) in OPERATIONS.items()
    if method != "get" and name != "lookUpReader"
)


@pytest.fixture
def person(transactional_db: None) -> Callable[..., Any]:
    def made(*codenames: str) -> Any:
        one = get_user_model().objects.create_user(uuid.uuid4().hex[:12], is_staff=True)
        one.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        return one

    return made


@pytest.fixture
def places(transactional_db: None) -> dict[str, str]:
    root = get_user_model().objects.create_superuser("root")
    edition = publish(root.pk, "k", letter(), hold_s=60).edition
    return {
        "{issue}": str(edition.issue_id),
        "{reader}": str(SubscriberFactory().pk),
        "{key}": ReaderFieldDefinition.objects.create(key="town", position=1).pk,
        "{tag}": str(Tag.objects.create(name="Birds").pk),
        "{import_id}": str(SubscriberImportFactory().pk),
        "{export_id}": str(Export.objects.create(state="finished", finished_at=timezone.now()).pk),
        "{move_id}": str(IssueMove.objects.create(state="finished", finished_at=timezone.now()).pk),
    }


def call(program: Program, name: str, places: dict[str, str], key: str | None = "") -> Any:
    method, path, _ = OPERATIONS[name]
    path = path.removeprefix(API).replace("{action}", "pause" if "Issue" in name else "block")
    for place, value in places.items():
        path = path.replace(place, value)
    if method == "get":
        return program.get(path)
    if name == "uploadImport":
        return program.post(path, b"email\na@b.example\n", key=key, content_type="text/csv")
    if name == "uploadPastIssues":
        return program.post(path, b"{}", key=key, content_type="application/octet-stream")
    query = "?version=1" if name in {"actOnIssue", "rescheduleIssue"} else ""
    return program.post(f"{path}{query}", BODIES.get(name), key=key, method=method.upper())


def type_of(answer: Any) -> str:
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Set-Cookie" not in answer.headers
    problem = answer.json()
    assert set(problem) >= {"type", "title", "status", "detail"}
    assert problem["status"] == answer.status_code
    return str(problem["type"]).removeprefix("urn:homing:problem:")


def test_the_openapi_document_is_valid_and_public(client: Client) -> None:
    answer = client.get(f"{API}/openapi.json", secure=True)
    assert answer.status_code == 200
    assert answer.json() == document()
    assert answer.headers["Cache-Control"] == "no-store"
    jsonschema.Draft202012Validator(OPENAPI_31).validate(document())
    for path in ("docs", "docs/", "openapi", ""):
        assert client.get(f"{API}/{path}", secure=True).status_code == 404


def test_every_operation_is_fully_described() -> None:
    for name, (_, _, operation) in OPERATIONS.items():
        assert all(operation[what] for what in ("summary", "description", "tags")), name
        assert operation["security"] == [{"Bearer": []}]
        assert {"400", "401", "403", "503"} <= set(operation["responses"])
        keys = [one for one in operation["parameters"] if one["name"] == "Idempotency-Key"]
        assert len(keys) == (name in CHANGING)
        if name in CHANGING:
            assert keys[0]["required"] is True
            assert keys[0]["schema"]["pattern"]
            assert {"409", "413", "415", "422"} <= set(operation["responses"])
        for status, answer in operation["responses"].items():
            assert answer["description"]
            if int(status) >= 400:
                assert list(answer["content"]) == ["application/problem+json"]


def test_the_api_knows_the_same_actions_as_the_pages() -> None:
    of_issues = set(ActionName.__args__)  # type: ignore[attr-defined]
    assert of_issues == {*ACTIONS, *OLD_NAMES}
    assert set(Which.__args__) == set(LISTS)  # type: ignore[attr-defined]
    of_readers = reader_calls.ActionName.__args__  # type: ignore[attr-defined]
    # Lifting a bounce needs a reason, so it has its own call.
    assert {*of_readers, "lift-bounce"} == OF_READERS


def test_the_table_names_every_operation_and_every_scope() -> None:
    assert set(TABLE) == set(OPERATIONS)
    assert {scope for scope, _ in TABLE.values()} == set(NAMES)
    for scope in SCOPES:
        permissions = {one.rpartition(".")[2] for one in scope.permissions}
        assert (scope.name, permissions) in TABLE.values()


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_call_needs_its_scope_and_a_permission(
    name: str, person: Callable[..., Any], places: dict[str, str]
) -> None:
    scope, permissions = TABLE[name]
    everything = person(*PERMISSIONS)
    without = Program(everything)
    without.token = ""
    assert call(without, name, places).status_code == 401
    others = [one for one in NAMES if one != scope]
    refused = call(Program(everything, *others), name, places)
    assert (refused.status_code, type_of(refused)) == (403, "not-allowed")
    for permission in PERMISSIONS:
        somebody = person(*PERMISSIONS)
        program = Program(somebody, scope)
        somebody.user_permissions.set(Permission.objects.filter(codename=permission))
        answer = call(program, name, places)
        assert answer.status_code < 500
        if permission in permissions:
            assert answer.status_code not in (401, 403), (permission, answer.content)
        else:
            assert answer.status_code == 403, permission


@pytest.fixture
def program(transactional_db: None) -> Program:
    return Program(get_user_model().objects.create_superuser("the-press"))


def test_every_changing_call_needs_a_key(program: Program, places: dict[str, str]) -> None:
    for name in CHANGING:
        answer = call(program, name, places, key=None)
        assert (answer.status_code, type_of(answer)) == (400, "bad-key"), name
    assert not PostedForm.objects.exists()


INVALID_BODIES = [
    (b"{", "not-readable", "not valid JSON"),
    (b"", "not-valid", "missing"),
    (b"[]", "not-valid", ""),
    (b"\xff{}", "not-readable", "not UTF-8"),
    (b'{"title": NaN}', "not-readable", "NaN"),
    (b"[" * 100_000, "not-readable", "nested too deeply"),
    (b'{"title": ' + b'{"a":' * 20 + b"1" + b"}" * 21, "not-readable", "nested too deeply"),
    (b'{"title": "a", "title": "b"}', "not-valid", "more than once"),
    (b'{"title": "a\\u0000b", "text": "c"}', "not-valid", "NUL"),
    (b'{"title": "a\\ud800b", "text": "c"}', "not-valid", "half of a character"),
    (b'{"title": "a", "text": "c", "txet": "d"}', "not-valid", "txet"),
    (b'{"title": "a", "text": 7}', "not-valid", "text"),
    (b'{"title": "a", "text": "c", "hold_s": 1e999}', "not-valid", "too large"),
    (b'{"title": "a", "text": "c", "hold_s": ' + b"9" * 5000 + b"}", "not-readable", "digits"),
]


def test_an_invalid_body_gets_400_with_the_reason(program: Program) -> None:
    for body, kind, detail in INVALID_BODIES:
        answer = program.post("/issues/", body)
        assert (answer.status_code, type_of(answer)) == (400, kind), body[:80]
        assert detail in answer.json()["detail"]
    assert not PostedForm.objects.exists()


def test_a_body_has_a_content_type_and_a_limit(program: Program, settings: Any) -> None:
    kind = program.post("/issues/", b"{}", content_type="text/plain")
    assert (kind.status_code, type_of(kind)) == (415, "not-a-media-type")
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    large = program.post("/issues/", {"title": "a" * 200, "text": "b"})
    assert (large.status_code, type_of(large)) == (413, "too-large")


def test_an_invalid_query_is_refused_by_name(program: Program) -> None:
    for query in (
        *("versoin=1", "limit=1&limit=2", "limit=0", "limit=1001", "limit=x"),
        *("limit=1_0", "limit=%2B1", "limit=1.0", "limit=%201", "limit=%D9%A1", "before=1_0"),
    ):
        answer = program.get(f"/issues/?{query}")
        assert (answer.status_code, type_of(answer)) == (400, "not-valid"), query
        assert answer.json()["errors"][0]["field"] == query.partition("=")[0]


def test_control_characters_in_a_query_are_refused(program: Program) -> None:
    for sign in ("\0", "\t", "\r\n", "\x1b", "\x7f", "\x85", "\u2028"):
        path = f"/imports/?filename={quote(f'list{sign}.csv')}"
        answer = program.post(path, b"email\n", content_type="text/csv")
        assert (answer.status_code, type_of(answer)) == (400, "not-valid"), sign
        assert answer.json()["errors"][0]["field"] == "filename"
        assert "control character" in answer.json()["detail"]
    assert not PostedForm.objects.exists()


def test_whole_numbers_may_be_written_as_floats(program: Program) -> None:
    issue = program.post("/issues/", BODIES["publishIssue"]).json()["issue"]
    body = json.dumps({**BODIES["publishVersion"], "version": 2}).replace("2", "2.0").encode()
    assert program.post(f"/issues/{issue}/versions/", body).status_code == 201


def test_plain_http_is_refused_and_never_redirected(program: Program) -> None:
    for method in (program.client.get, program.client.post):
        answer = method(f"{API}/issues/", headers={"Authorization": f"Bearer {program.token}"})
        assert (answer.status_code, type_of(answer)) == (403, "use-https")
        assert "Location" not in answer.headers


def test_a_body_without_its_length_is_refused(program: Program) -> None:
    headers = {"Authorization": f"Bearer {program.token}", "Transfer-Encoding": "chunked"}
    answer = program.client.post(f"{API}/imports/", secure=True, headers=headers)
    assert (answer.status_code, type_of(answer)) == (400, "not-readable")
    assert "is chunked and has no length" in answer.json()["detail"]


def test_unknown_addresses_get_problems(program: Program) -> None:
    for path in ("/nothing/", "/issues", "/issues/x/", "/readers/x/", f"/readers/{2**70}/"):
        answer = program.get(path)
        assert (answer.status_code, type_of(answer)) == (404, "not-found"), path
    issue = uuid.uuid4()
    for address, there_are in (
        (f"/issues/{issue}/explode/?version=1", {*ACTIONS, *OLD_NAMES}),
        ("/readers/17/explode/", OF_READERS - {"lift-bounce"}),
    ):
        answer = program.post(address)
        assert (answer.status_code, type_of(answer)) == (404, "not-found")
        detail = answer.json()["detail"]
        assert detail.startswith("Unknown action in the address. Use ")
        assert set(re.findall(r"'([a-z-]+)'", detail)) == set(there_are)
    headers = {"Authorization": f"Bearer {program.token}"}
    answer = program.client.delete(f"{API}/issues/", secure=True, headers=headers)
    assert (answer.status_code, type_of(answer)) == (405, "not-a-method")
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "POST"}


def test_a_missing_last_slash_gets_404_with_a_hint(program: Program, settings: Any) -> None:
    for settings.DEBUG in (False, True):
        read, posted = program.get("/issues"), program.post("/issues", {"title": "Swifts"})
        for answer in (read, posted, program.get(""), program.post("/readers/1/erase")):
            assert (answer.status_code, type_of(answer)) == (404, "not-found")
            assert "may need a slash at its end" in answer.json()["detail"]
            assert "Location" not in answer.headers
        assert "slash" not in program.get("/nothing/").json()["detail"]


def test_the_openapi_document_is_read_only() -> None:
    # A program has neither cookies nor a CSRF token.
    window = Client(enforce_csrf_checks=True)
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        answer = window.generic(method, f"{API}/openapi.json", secure=True)
        assert (answer.status_code, type_of(answer)) == (405, "not-a-method")
        assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD"}


def test_head_answers_like_get_without_a_body(program: Program, places: dict[str, str]) -> None:
    headers = {"Authorization": f"Bearer {program.token}"}
    for path in [path for method, path, _ in OPERATIONS.values() if method == "get"]:
        for place, value in places.items():
            path = path.replace(place, value)
        got = program.client.get(path, secure=True, headers=headers)
        answer = program.client.head(path, secure=True, headers=headers)
        assert answer.status_code == got.status_code, path
        assert answer.headers["Content-Type"] == got.headers["Content-Type"]
        assert b"".join(answer) == b""
        assert program.client.head(path, secure=True).status_code == 401
    answer = program.client.head(f"{API}/readers/look-up/", secure=True, headers=headers)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


def test_an_internal_error_reveals_no_details(program: Program) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE api_token RENAME TO api_token_elsewhere")
    try:
        answer = program.get("/issues/")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE api_token_elsewhere RENAME TO api_token")
    assert (answer.status_code, type_of(answer)) == (500, "failed")
    assert "api_token" not in answer.content.decode()


def test_cookies_are_ignored(program: Program, settings: Any) -> None:
    # With this setting Django returns a cookie for every session that it reads.
    settings.SESSION_SAVE_EVERY_REQUEST = True
    program.client.force_login(program.person)
    answer = program.get("/issues/")
    assert answer.status_code == 200
    assert "Set-Cookie" not in answer.headers
    assert "Cookie" not in answer.headers.get("Vary", "")
