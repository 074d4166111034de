"""Log lines have the fields of docs/logs.md, and no secrets."""

import io
import json
import logging
import re
import sys
import uuid
from typing import Any

import psycopg
import pytest
from django.db import Error, connection
from structlog.contextvars import clear_contextvars

from delivery import log_context
from newsletter_site.logs.log_format import LineFormatter, StderrHandler, name_from
from newsletter_site.logs.redact_log_line import Redactor

SECRETS = ["s3cret-Key", "hunter2", "p@ss word/%", "a 'quoted' \\ one", "short"]


@pytest.fixture(autouse=True)
def no_ids() -> None:
    clear_contextvars()


def line(
    message: Any, *arguments: Any, shape: str = "json", words: bool = False, **more: Any
) -> str:
    record = logging.LogRecord(
        "some.library", logging.WARNING, "file.py", 1, message, arguments, more.pop("fault", None)
    )
    record.__dict__.update(more)
    return LineFormatter(shape=shape, words=words, secrets=SECRETS).format(record)


def event(message: Any, *arguments: Any, **more: Any) -> str:
    text = json.loads(line(message, *arguments, **more))["event"]
    assert isinstance(text, str)
    return text


def caught(error: BaseException) -> Any:
    try:
        raise error
    except type(error):
        return sys.exc_info()


def test_a_line_has_the_common_fields_and_bound_ids() -> None:
    attempt, issue = uuid.uuid4(), uuid.uuid4()
    log_context.bind(attempt=attempt, issue=issue, version=2, batch=None)
    made = json.loads(line("A sentence."))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", made.pop("at"))
    assert made.pop("host")
    assert made.pop("process")
    assert made.pop("pid") > 0
    assert made == {
        "level": "warning",
        "logger": "some.library",
        "event": "A sentence.",
        "issue": str(issue),
        "version": 2,
        "attempt": attempt.hex,
    }


def test_other_attributes_and_unknown_ids_are_not_written() -> None:
    made = json.loads(line("A sentence.", request="GET /record/x/", author="Ada", password="x"))
    assert not {"request", "author", "password"} & set(made)
    with pytest.raises(ValueError, match="reader"):
        log_context.bind(reader=4)


def test_a_text_line_has_the_event_and_the_ids() -> None:
    log_context.bind(version=2)
    assert re.fullmatch(
        r"\S+Z WARNING some\.library: A sentence\.  version=2", line("A sentence.", shape="lines")
    )


def test_a_scope_restores_the_ids_bound_before() -> None:
    log_context.bind(worker=1, batch=2)

    def break_off() -> None:
        with log_context.scope():
            log_context.bind(batch=3, attempt=4, worker=None)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_off()
    assert log_context.bound() == {"worker": 1, "batch": 2}


def test_a_process_is_named_by_its_role() -> None:
    for arguments, name in (
        (["manage.py", "deliver", "--until-empty"], "worker"),
        (["/srv/homing/manage.py", "runserver"], "web"),
        (["manage.py", "import_subscribers", "ada@example.org.csv"], "import_subscribers"),
        (["manage.py"], "manage"),
        (["/usr/bin/flask", "x"], "flask"),
        ([], "python"),
    ):
        assert name_from(tuple(arguments)) == name


def test_an_error_is_logged_by_types_and_places() -> None:
    try:
        try:
            raise KeyError("ada@example.org")
        except KeyError as error:
            raise ValueError("Ada Lovelace") from error
    except ValueError:
        text = line("It broke.", fault=sys.exc_info())
    made = json.loads(text)
    assert made["error"] == "ValueError, from KeyError"
    (place,) = made["frames"]
    assert place.startswith("tests/newsletter_site/logs/test_log_format.py:")
    assert "Lovelace" not in text
    assert "example.org" not in text


@pytest.mark.django_db(transaction=True)
def test_a_database_error_is_logged_with_code_and_constraint() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE person (address text CONSTRAINT one_address UNIQUE)")
        cursor.execute("INSERT INTO person VALUES ('ada@example.org')")
        try:
            cursor.execute("INSERT INTO person VALUES ('ada@example.org')")
        except Error:
            text = line("It broke.", fault=sys.exc_info())
        cursor.execute("DROP TABLE person")
    assert json.loads(text)["error"] == ("IntegrityError, from UniqueViolation 23505 one_address")
    assert "example.org" not in text


def test_an_error_as_argument_is_logged_by_type() -> None:
    fault = psycopg.OperationalError("Ada Lovelace was here")
    assert event("tried again: %s", fault) == "tried again: OperationalError"
    assert event("tried again: %r", fault) == "tried again: 'OperationalError'"
    assert event("%(what)s", {"what": fault}) == "OperationalError"
    assert event(fault) == "OperationalError"
    assert event(str(fault), fault=caught(fault)) == "OperationalError"


@pytest.mark.parametrize("shape", ["json", "lines"])
def test_in_development_error_messages_are_redacted(shape: str) -> None:
    words = "postgres://me:hunter2@db/ of ada@example.org, “quoted\nand then Ada"
    fault = caught(ValueError(words))
    text = line("It broke.", fault=fault, shape=shape, words=True)
    assert "ValueError: " in text
    assert "hunter2" not in text
    assert "ada@example.org" not in text
    assert "[secret]" in text
    # An opening quotation mark without a closing one must not hide the text and code lines after
    # it.
    assert "test_log_format.py" in text
    assert "and then Ada" in text


def test_circular_causes_of_an_error_are_cut() -> None:
    one, two = ValueError(), KeyError()
    one.__cause__, two.__cause__ = two, one
    made = json.loads(line("It broke.", fault=(ValueError, one, None)))
    assert made["error"].count("from") == 9


def test_an_unformattable_line_logs_only_its_place() -> None:
    stream = io.StringIO()
    handler = StderrHandler(stream)
    handler.setFormatter(LineFormatter(shape="json", words=False, secrets=[]))
    record = logging.LogRecord(
        "some.library", logging.INFO, "folder/file.py", 7, "%d readers", ("Ada",), None
    )
    handler.handle(record)
    made = json.loads(stream.getvalue())
    assert made["event"] == "a log line could not be formatted: TypeError in file.py, line 7"
    assert "Ada" not in stream.getvalue()


def test_log_lines_of_the_web_server_contain_no_path() -> None:
    def of_waitress(message: str) -> str:
        record = logging.LogRecord("waitress", logging.ERROR, "", 1, message, (), None)
        made = json.loads(LineFormatter(shape="json", words=False, secrets=[]).format(record))
        return str(made["event"])

    assert of_waitress("Exception while serving /record/x/") == "Exception while serving a page"
    assert of_waitress("Task queue depth is 4") == "Task queue depth is 4"


TAKEN_OUT = [
    ("the key s3cret-Key is wrong", "the key [secret] is wrong"),
    ("postgres://me:hunter2@db:5432/homing", "postgres://me:[secret]@db:5432/…"),
    ("password p@ss word/% or p%40ss%20word%2F%25", "password [secret] or [secret]"),
    (repr({"x": "a 'quoted' \\ one"}), "{'x': \"[secret]\"}"),
    ("a short word", "a short word"),
    ("mail to Ada.Lovelace+x@example.org, please", "mail to [address], please"),
    ("<åda@exämple.org>", "<[address]>"),
    ("email=ada%40example.org&name=Ada", "email=[address]&name=Ada"),
    ("https://letter.example/unsubscribe/x/?y=z is gone", "https://letter.example/… is gone"),
    ("Listening at: http://127.0.0.1:8000 (12)", "Listening at: http://127.0.0.1:8000 (12)"),
    ("token AbCdEfGh-jKlMnOp_rStUvWxYz12", "token [token]"),
    ("session k3jx8vq0w9zt2m5n7b1c4d6f8g0h2j4k", "session [token]"),
    ("signed x:1vM2aB:Zk3fUq9-PwLx0RtYvB2nMe_5sHdGj7KcQ1oWi8AzX", "signed x:1vM2aB:[token]"),
    ("hash " + "0a" * 32, "hash [token]"),
    ("Postmark refuses: “no “Ada” here” (code 300).", "Postmark refuses: “…” (code 300)."),
    ("Postmark refuses: “Ada Love", "Postmark refuses: “…”"),
    ("padded QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "padded [token]"),
]


def test_secrets_addresses_and_tokens_are_taken_out() -> None:
    for logged, written in TAKEN_OUT:
        assert event(logged) == written
        assert event("%s", logged) == written


def test_long_texts_without_spaces_are_redacted_quickly() -> None:
    """A redaction in quadratic time would take minutes for these texts."""
    assert Redactor([]).redact("x" * 200_000 + " ada@example.org").endswith("x [address]")


def test_ordinary_words_names_and_ids_are_not_redacted() -> None:
    for harmless in (
        "attempt 7d8f2c7ea0f84b0c93a3bd1f5f0d52f1 of batch 4711: 200 copies, done",
        "issue 3f2b6a3e-5c0a-4b0f-9a57-0f6f3c1f8a11",
        "3f2b6a3e5c0a4b0f9a570f6f3c1f8a11.1.1234567",
        "POSTMARK_WEBHOOK_PASSWORD",
        "migrations 0021_an_issue_that_waits_for_its_time",
        "subscriber_email_key_is_unique",
        "PermissionsBackend, IdempotencyIsolationError",
        "12345678901234567890123",
        "SIGTERM, 3:15 and 50 % of 1,000,000",
        "Content-Security-Policy-Report-Only",
    ):
        assert event(harmless) == harmless
