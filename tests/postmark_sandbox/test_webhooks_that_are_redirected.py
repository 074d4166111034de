"""A webhook that is not verified because it was redirected: the refusal says where to."""

from __future__ import annotations

from tests.postmark_sandbox.caller import Caller
from tests.postmark_sandbox.receiver import Receiver


def refusal(caller: Caller, receiver: Receiver) -> str:
    reply = caller.post(
        "/webhooks", {"Url": f"{receiver.base}/hooks/", "Triggers": {"Delivery": {"Enabled": True}}}
    )
    assert (reply.status, reply.code) == (422, 1364)
    return reply.message


def test_a_redirect_to_https_that_nobody_speaks_is_named_without_its_password(
    caller: Caller, receiver: Receiver
) -> None:
    https = f"https://127.0.0.1:{receiver.port}/hooks/"
    receiver.moves = {"/hooks/": (301, https.replace("127", "pm:s3cret@127"))}
    assert refusal(caller, receiver).endswith(
        f"It redirected to {https}, which gave no answer; expected 200."
    )


def test_a_redirect_to_what_answers_otherwise_is_named(caller: Caller, receiver: Receiver) -> None:
    receiver.moves = {"/hooks/": (308, "/there/")}
    receiver.statuses = [404]
    assert refusal(caller, receiver).endswith(
        f"It redirected to {receiver.base}/there/, which answered 404; expected 200."
    )


def test_without_a_redirect_none_is_spoken_of(caller: Caller, receiver: Receiver) -> None:
    receiver.statuses = [404]
    assert refusal(caller, receiver).endswith("It answered 404; expected 200.")
