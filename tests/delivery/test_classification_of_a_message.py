"""What one result in Postmark's answer says about its message: one test for each known code."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from delivery.classification import LONGEST_TEXT, classify_message
from delivery.outcomes import (
    Accepted,
    Fault,
    Inactive,
    MessageAnswer,
    NotNow,
    Refused,
    Unanswered,
)
from tests.delivery.answers import accepted, error, message_id

ADDRESS = "reader1@example.net"
ACCEPTED = Accepted(message_id(1), datetime(2026, 5, 4, 14, 15, 22, 123456, tzinfo=UTC))


def answer_to(item: object) -> MessageAnswer:
    return classify_message(item, ADDRESS)


def remedy_for(code: int, text: str = "Something is wrong.") -> str:
    fault = answer_to(error(code, text))
    assert isinstance(fault, Fault)
    return fault.remedy


# --- Accepted ---------------------------------------------------------------------------------


def test_code_0_with_an_id_is_accepted_at_the_providers_time() -> None:
    assert answer_to(accepted()) == ACCEPTED


def test_a_delayed_acceptance_has_no_code_and_is_accepted() -> None:
    delayed = accepted(Message="Message accepted, but delivery may be delayed.")
    del delayed["ErrorCode"]
    assert answer_to(delayed) == ACCEPTED


def test_a_code_of_null_counts_as_none() -> None:
    assert answer_to(accepted(ErrorCode=None)) == ACCEPTED


@pytest.mark.parametrize(
    "to",
    [
        "READER1@Example.NET",
        "Rita Reader <reader1@example.net>",
        '"Reader, Jr." <Reader1@example.net>',
        " reader1@example.net ",
    ],
)
def test_the_address_may_come_back_with_a_name_and_in_other_letters(to: str) -> None:
    assert answer_to(accepted(To=to)) == ACCEPTED


@pytest.mark.parametrize("to", [None, 5, ["reader1@example.net"]])
def test_an_acceptance_without_a_readable_address_is_one_all_the_same(to: object) -> None:
    assert answer_to(accepted(To=to)) == ACCEPTED


@pytest.mark.parametrize(
    "time",
    [
        None,
        "",
        "yesterday",
        1767225600,
        "2026-05-04T10:15:22",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-12:00",
    ],
)
def test_an_unusable_time_does_not_make_an_acceptance_doubtful(time: object) -> None:
    assert answer_to(accepted(SubmittedAt=time)) == Accepted(message_id(1), None)


def test_a_time_is_kept_in_utc_because_no_database_stores_every_offset() -> None:
    answer = answer_to(accepted(SubmittedAt="2026-05-04T10:15:22+20:00"))
    assert isinstance(answer, Accepted)
    assert answer.at is not None
    assert answer.at.isoformat() == "2026-05-03T14:15:22+00:00"


# --- Neither accepted nor refused -------------------------------------------------------------


@pytest.mark.parametrize("item", [None, [], "OK", 0, True, 1.5])
def test_what_is_no_result_leaves_the_message_unanswered(item: object) -> None:
    assert isinstance(answer_to(item), Unanswered)


@pytest.mark.parametrize(
    "provider_id",
    [None, "", 17, ["x"], "x" * 101, "two\nlines", "nul\x00", "bell\x07"],
    ids=repr,
)
@pytest.mark.parametrize("code", [0, None])
def test_an_acceptance_without_a_usable_id_is_none(provider_id: object, code: object) -> None:
    assert isinstance(answer_to(accepted(MessageID=provider_id, ErrorCode=code)), Unanswered)


def test_a_result_with_neither_an_id_nor_a_code_is_no_answer() -> None:
    assert isinstance(answer_to({}), Unanswered)
    assert isinstance(answer_to({"Message": "OK"}), Unanswered)


@pytest.mark.parametrize("code", [True, False, "0", "406", 0.0, 406.0, [], {}], ids=repr)
def test_a_code_that_is_no_whole_number_is_no_answer(code: object) -> None:
    assert isinstance(answer_to(accepted(ErrorCode=code)), Unanswered)


@pytest.mark.parametrize(
    "to",
    [
        "reader2@example.net",
        "areader1@example.net",
        "reader1@example.network",
        "reader1@example.net <other@example.org>",
        "",
    ],
)
def test_an_acceptance_that_names_another_address_is_not_this_messages(to: str) -> None:
    assert isinstance(answer_to(accepted(To=to)), Unanswered)


# --- The table of codes -----------------------------------------------------------------------


def test_406_is_inactive_whatever_its_text() -> None:
    assert isinstance(answer_to(error(406, "You tried to send to a recipient …")), Inactive)
    assert isinstance(answer_to({"ErrorCode": 406}), Inactive)


@pytest.mark.parametrize("code", [100, 429])
def test_maintenance_and_the_rate_limit_are_for_later(code: int) -> None:
    assert isinstance(answer_to(error(code)), NotNow)


def test_101_is_an_error_of_the_provider_that_leaves_the_message_open() -> None:
    assert isinstance(answer_to(error(101)), Unanswered)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (10, "POSTMARK_SERVER_TOKEN"),
        (14, "Postmark's support"),
        (400, "FROM_EMAIL"),
        (401, "FROM_EMAIL"),
        (405, "plan and credits"),
        (412, "approved"),
        (413, "may not send"),
        (422, "POSTMARK_SERVER_TOKEN"),
        (500, "sender signatures"),
        (503, "sender signatures"),
        (523, "sender signatures"),
        (600, "settings of the Postmark server"),
        (614, "settings of the Postmark server"),
        (1220, "message streams"),
        (1226, "POSTMARK_BROADCAST_STREAM"),
        (1235, "POSTMARK_BROADCAST_STREAM"),
        (1236, "POSTMARK_BROADCAST_STREAM"),
        (1241, "message streams"),
        (1480, "allowed IPs"),
    ],
)
def test_a_fault_of_the_account_says_what_to_set_right(code: int, names: str) -> None:
    assert names in remedy_for(code)


@pytest.mark.parametrize("code", [402, 403, 409, 1101, 1109, 1120, 1121, 1122, 1123])
def test_a_malformed_message_is_a_fault_of_homing_and_of_no_reader(code: int) -> None:
    assert "fault of Homing" in remedy_for(code)


def test_a_forbidden_attachment_is_a_fault_of_the_content() -> None:
    assert "Correct the issue" in remedy_for(411)


UNLISTED = [11, 12, 13, 410, 499, 524, 700, 701, 900, 1000, 1003, 1219, 1242, 1350, 1364, 1400]
UNLISTED += [1411, 1500, 1502, 9999, -1, 2**62]


@pytest.mark.parametrize("code", UNLISTED)
def test_an_unlisted_code_stops_everything_and_refuses_nobody(code: int) -> None:
    assert "does not know this code" in remedy_for(code)


# --- What only the text of code 300 tells -----------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Invalid 'To' address: 'c@@example.net'.",
        "Invalid 'Cc' address: 'c@@example.net'.",
        "Invalid 'Bcc' address: 'c@@example.net'.",
        "Error parsing 'To': Illegal email domain 'x' in address 'a@x'.",
        "Error parsing 'To': Illegal email address 'x'. It must contain the '@' symbol.",
        "error parsing  'TO': anything",
    ],
)
def test_300_about_the_recipient_refuses_this_reader_alone(text: str) -> None:
    answer = answer_to(error(300, text))
    assert isinstance(answer, Refused)
    assert "(code 300)" in answer.reason


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Zero recipients specified", "Correct the issue"),
        ("Invalid 'From' address: 'x'.", "FROM_EMAIL"),
        ("Error parsing 'Reply-To': Illegal email address 'x'.", "reply-to"),
        ("Error parsing 'ReplyTo': Illegal email address 'x'.", "reply-to"),
        ("Invalid metadata content. Field names are limited to 20 characters.", "Correct"),
        ("Provide either email TextBody or HtmlBody or both.", "Correct the issue"),
        ("Your subject quotes Invalid 'To' address", "Correct the issue"),
        ("Invalid 'Topic' header", "Correct the issue"),
        ("", "Correct the issue"),
    ],
)
def test_300_about_anything_else_stops_everything(text: str, names: str) -> None:
    assert names in remedy_for(300, text)


# --- The provider's words ---------------------------------------------------------------------


def reason_for(text: Any) -> str:
    fault = answer_to({"ErrorCode": 400, "Message": text})
    assert isinstance(fault, Fault)
    return fault.reason


def test_a_fault_quotes_the_provider_on_one_line() -> None:
    assert reason_for("The 'From'\r\naddress ") == (
        "Postmark refuses: “The 'From' address” (code 400)."
    )


def test_a_long_text_is_cut() -> None:
    assert "x" * (LONGEST_TEXT - 1) + "…”" in reason_for("x" * 100_000)
    assert "x" * LONGEST_TEXT + "”" in reason_for("x" * LONGEST_TEXT)


def test_a_text_with_control_characters_can_still_be_stored() -> None:
    assert reason_for("a\x00b\x1b[31mc\x85d") == "Postmark refuses: “a b [31mc d” (code 400)."


@pytest.mark.parametrize("text", [None, 5, {"a": "b"}, ["a"]], ids=repr)
def test_what_is_no_text_is_not_quoted(text: object) -> None:
    assert reason_for(text) == "Postmark refuses: “” (code 400)."
