"""Answers as Postmark gives them, for the tests that read or send them."""

import json

JSON = {"Content-Type": "application/json"}


def accepted(number: int = 1, **more: object) -> dict[str, object]:
    """Write the result of message `number`, accepted for reader<number>@example.net."""
    return {
        "To": f"reader{number}@example.net",
        "SubmittedAt": "2026-05-04T10:15:22.1234567-04:00",
        "MessageID": message_id(number),
        "ErrorCode": 0,
        "Message": "OK",
    } | more


def message_id(number: int) -> str:
    """Return the provider's id for message `number`."""
    return f"0b8c6a1e-1111-4a2b-8c3d-{number:012d}"


def error(code: int, text: str = "Something is wrong.") -> dict[str, object]:
    """Write a result, or a whole answer, that reports an error."""
    return {"ErrorCode": code, "Message": text}


def addresses(count: int) -> list[str]:
    """List the addresses of a batch of `count` messages."""
    return [f"reader{number}@example.net" for number in range(1, count + 1)]


def body(value: object) -> bytes:
    """Write `value` as the body of an answer."""
    return json.dumps(value).encode()


def listed(number: int = 1, **more: object) -> dict[str, object]:
    """Return message `number` of the attempt `a77e`, as Postmark's search lists it."""
    return {
        "MessageID": message_id(number),
        "MessageStream": "broadcast",
        "Recipients": [f"reader{number}@example.net"],
        "ReceivedAt": "2026-05-04T10:15:22.0000000-04:00",
        "Status": "Sent",
        "Metadata": {"delivery": f"key.{number}", "attempt": "a77e"},
    } | more
