"""The page of suppression lists: who is on them and why, adding and lifting."""

import re

import pytest

from tests.postmark_sandbox.caller import Caller, a_message
from tests.postmark_sandbox.pages.test_inbox import ESCAPED, EVIL, read


def listed(caller: Caller, **query: str) -> list[list[str]]:
    """The rows of the page: the cells of each, without what a narrow window shows instead."""
    reply = caller.get("/suppressions", **query)
    read(reply)
    rows = re.findall(r"<tr>\s*<th scope=\"row\">(.*?)</tr>", reply.text, re.DOTALL)
    return [
        [
            re.sub(r"<[^>]+>", "", cell).strip()
            for cell in re.split(r"<span class=\"narrow-only.*?</td>|<td", row, flags=re.DOTALL)
        ][:1]
        + re.findall(r"<td class=\"wide-only\">(.*?)</td>", row)
        + (["Lift"] if ">Lift<" in row else ["stays"])
        for row in rows
    ]


def suppress(caller: Caller, address: str, reason: str, origin: str, stream: str) -> None:
    body = {"addresses": [address], "reason": reason, "origin": origin, "stream": stream}
    assert caller.post("/__sandbox__/suppressions", body).status == 200


def test_addresses_are_listed_with_reason_and_lift_button(
    caller: Caller,
) -> None:
    suppress(caller, "a@example.net", "HardBounce", "Recipient", "outbound")
    suppress(caller, "b@example.net", "ManualSuppression", "Recipient", "broadcast")
    suppress(caller, "c@example.net", "SpamComplaint", "Recipient", "broadcast")
    suppress(caller, "d@example.net", "ManualSuppression", "Customer", "broadcast")
    assert listed(caller) == [
        ["a@example.net", "HardBounce", "Recipient", "Lift"],
        ["d@example.net", "ManualSuppression", "Customer", "Lift"],
        ["c@example.net", "SpamComplaint", "Recipient", "stays"],
        ["b@example.net", "ManualSuppression", "Recipient", "stays"],
    ]
    assert "4 addresses suppressed" in caller.get("/suppressions").text


def test_an_address_is_found_by_a_part_of_it(caller: Caller) -> None:
    for name in ("ada", "bram"):
        suppress(caller, f"{name}@example.net", "HardBounce", "Recipient", "broadcast")
    assert [row[0] for row in listed(caller, q="BRA")] == ["bram@example.net"]
    assert "No address has “nobody” in it." in caller.get("/suppressions", q="nobody").text
    addresses = [f"a{number}@example.net" for number in range(201)]
    caller.post("/__sandbox__/suppressions", {"addresses": addresses})
    assert len(listed(caller)) == 200


def test_an_address_is_added_and_lifted_as_the_account_would(caller: Caller) -> None:
    reply = caller.form("/suppressions", address=" Ada@example.net ", stream="broadcast")
    assert (reply.status, reply.headers["location"]) == (303, "/suppressions")
    assert listed(caller) == [["ada@example.net", "ManualSuppression", "Customer", "Lift"]]
    assert caller.post("/email", a_message(To="ada@example.net")).code == 406
    lifted = caller.form("/suppressions/lift", address="ada@example.net", stream="broadcast")
    assert lifted.status == 303
    assert listed(caller) == []


def test_invalid_address_form_keeps_its_values(caller: Caller) -> None:
    reply = caller.form("/suppressions", address=EVIL, stream="outbound")
    assert reply.status == 422
    read(reply)
    assert "An invalid email address was provided." in reply.text
    assert ESCAPED in reply.text
    assert '<option value="outbound" selected>' in reply.text
    for stream in ("inbound", "nowhere", ""):
        assert caller.form("/suppressions", address="a@example.net", stream=stream).status == 422
    assert listed(caller) == []


@pytest.mark.parametrize("reason", ["SpamComplaint", "ManualSuppression"])
def test_protected_suppressions_cannot_be_lifted(caller: Caller, reason: str) -> None:
    suppress(caller, "a@example.net", reason, "Recipient", "broadcast")
    reply = caller.form("/suppressions/lift", address="a@example.net", stream="broadcast")
    assert reply.status == 422
    assert "You do not have the required authority to change this suppression." in reply.text
    assert len(listed(caller)) == 1
