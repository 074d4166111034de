"""Streams, suppression lists, magic addresses and their bounces."""

import pytest

from postmark_sandbox.server import SandboxServer
from tests.postmark_sandbox.caller import Caller, a_message


def listed(caller: Caller, stream: str = "broadcast", **query: str) -> dict[str, tuple[str, str]]:
    """Return a stream's suppressions: a dict from address to reason and origin."""
    entries = caller.get(f"/message-streams/{stream}/suppressions/dump", **query).json
    return {
        e["EmailAddress"]: (e["SuppressionReason"], e["Origin"]) for e in entries["Suppressions"]
    }


def test_there_are_three_streams_of_three_types(caller: Caller) -> None:
    found = caller.get("/message-streams").json
    types = {s["ID"]: s["MessageStreamType"] for s in found["MessageStreams"]}
    assert types == {"outbound": "Transactional", "broadcast": "Broadcasts", "inbound": "Inbound"}
    assert found["TotalCount"] == 3
    only = caller.get("/message-streams", messagestreamtype="broadcasts").json
    assert [s["ID"] for s in only["MessageStreams"]] == ["broadcast"]


def test_suppressions_are_created_and_deleted_with_postmarks_words(caller: Caller) -> None:
    path = "/message-streams/broadcast/suppressions"
    body = {"Suppressions": [{"EmailAddress": "A@example.net"}, {"EmailAddress": "nobody"}]}
    created = caller.post(path, body).json["Suppressions"]
    assert created == [
        {"EmailAddress": "A@example.net", "Status": "Suppressed", "Message": None},
        {
            "EmailAddress": "nobody",
            "Status": "Failed",
            "Message": "An invalid email address was provided.",
        },
    ]
    assert listed(caller) == {"a@example.net": ("ManualSuppression", "Customer")}
    deleted = caller.post(f"{path}/delete", body).json["Suppressions"]
    assert [entry["Status"] for entry in deleted] == ["Deleted", "Failed"]
    assert listed(caller) == {}


@pytest.mark.parametrize(
    ("reason", "origin", "status"),
    [
        ("HardBounce", "Recipient", "Deleted"),
        ("ManualSuppression", "Customer", "Deleted"),
        ("ManualSuppression", "Recipient", "Failed"),
        ("SpamComplaint", "Recipient", "Failed"),
    ],
)
def test_a_readers_own_unsubscribe_and_a_complaint_cannot_be_lifted(
    caller: Caller, reason: str, origin: str, status: str
) -> None:
    caller.post(
        "/__sandbox__/suppressions",
        {"addresses": ["a@example.net"], "reason": reason, "origin": origin},
    )
    body = {"Suppressions": [{"EmailAddress": "a@example.net"}]}
    entry = caller.post("/message-streams/broadcast/suppressions/delete", body).json
    assert entry["Suppressions"][0]["Status"] == status
    # A suppression by the account does not replace a reader's unsubscribe or a complaint.
    if status == "Failed":
        caller.post("/message-streams/broadcast/suppressions", body)
        assert listed(caller) == {"a@example.net": (reason, origin)}
    authority = "You do not have the required authority to change this suppression."
    assert entry["Suppressions"][0]["Message"] == (authority if status == "Failed" else None)
    assert (listed(caller) == {}) == (status == "Deleted")


def test_complaint_replaces_a_bounce_and_manual_suppression_replaces_neither(
    caller: Caller,
) -> None:
    addresses = ["a@example.net"]
    body = {"Suppressions": [{"EmailAddress": "a@example.net"}]}
    for reason in ("HardBounce", "SpamComplaint"):
        caller.post("/__sandbox__/suppressions", {"addresses": addresses, "reason": reason})
        caller.post("/message-streams/broadcast/suppressions", body)
        assert listed(caller) == {"a@example.net": (reason, "Recipient")}


def test_fifty_suppressions_are_the_maximum(caller: Caller) -> None:
    entries = [{"EmailAddress": f"a{n}@example.net"} for n in range(51)]
    path = "/message-streams/broadcast/suppressions"
    assert caller.post(path, {"Suppressions": entries}).code == 1410
    assert caller.post(path, {"Suppressions": entries[:50]}).status == 200
    assert caller.post(f"{path}/delete", {"Suppressions": entries}).code == 1410
    for body in ([], {}, {"Suppressions": "a"}, {"Suppressions": ["a"]}):
        assert caller.post(path, body).code == 1409


def test_the_dump_can_be_filtered(caller: Caller) -> None:
    caller.post("/__sandbox__/suppressions", {"addresses": ["hard@example.net"]})
    caller.post(
        "/__sandbox__/suppressions",
        {"addresses": ["left@example.net"], "reason": "ManualSuppression"},
    )
    assert set(listed(caller)) == {"hard@example.net", "left@example.net"}
    assert set(listed(caller, SuppressionReason="HardBounce")) == {"hard@example.net"}
    assert set(listed(caller, EmailAddress="LEFT@example.net")) == {"left@example.net"}
    assert set(listed(caller, Origin="Customer")) == set()
    assert set(listed(caller, "outbound")) == set()
    dump = "/message-streams/broadcast/suppressions/dump"
    assert caller.get(dump, suppressionreason="Whim").code == 1404
    assert caller.get(dump, origin="Nobody").code == 1405
    assert caller.get(dump, fromdate="soon").code == 1400
    assert set(listed(caller, todate="2020-01-01")) == set()
    assert caller.get("/message-streams/nowhere/suppressions/dump").code == 1226


@pytest.mark.parametrize(
    ("address", "type_name", "reason"),
    [
        ("hardbounce@bounce.example", "HardBounce", "HardBounce"),
        ("hardbounce+17@bounce.example", "HardBounce", "HardBounce"),
        ("softbounce@bounce.example", "SoftBounce", None),
        ("blocked@bounce.example", "Blocked", None),
        ("complaint@bounce.example", "SpamComplaint", "SpamComplaint"),
        ("HardBounce@bounce-testing.postmarkapp.com", "HardBounce", "HardBounce"),
        ("soft_bounce@bounce-testing.postmarkapp.com", "SoftBounce", None),
        ("nonsense@bounce-testing.postmarkapp.com", "HardBounce", "HardBounce"),
        ("SpamComplaint@bounce-testing.postmarkapp.com", "HardBounce", "HardBounce"),
    ],
)
def test_a_magic_address_is_accepted_and_bounces(
    caller: Caller, address: str, type_name: str, reason: str | None
) -> None:
    result = caller.send(a_message(1, To=address))[0]
    assert result["ErrorCode"] == 0
    bounces = caller.get("/bounces", count=10, offset=0, messagestream="broadcast").json
    assert bounces["TotalCount"] == 1
    bounce = bounces["Bounces"][0]
    assert (bounce["Type"], bounce["Email"]) == (type_name, address)
    assert bounce["MessageID"] == result["MessageID"]
    assert 0 < bounce["ID"] < 2**31
    assert bounce["Inactive"] == (reason is not None)
    expected = {} if reason is None else {address.lower(): (reason, "Recipient")}
    assert listed(caller) == expected
    again = caller.send(a_message(2, To=address))[0]["ErrorCode"]
    assert again == (0 if reason is None else 406)


def test_other_magic_addresses_trigger_their_event(caller: Caller) -> None:
    invalid, inactive, leaving, dropped, plain = caller.send(
        a_message(1, To="invalid@bounce.example"),
        a_message(2, To="inactive@bounce.example"),
        a_message(3, To="unsubscribe@bounce.example"),
        a_message(4, To="test@blackhole.postmarkapp.com"),
        a_message(5, To="somebody@bounce.example"),
    )
    assert (invalid["ErrorCode"], inactive["ErrorCode"]) == (300, 406)
    assert listed(caller) == {"unsubscribe@bounce.example": ("ManualSuppression", "Recipient")}
    assert caller.get("/deliverystats").json["Bounces"] == [{"Name": "All", "Count": 0}]
    events = {}
    for name, result in (("left", leaving), ("dropped", dropped), ("plain", plain)):
        details = caller.get(f"/messages/outbound/{result['MessageID']}/details").json
        events[name] = [event["Type"] for event in details["MessageEvents"]]
    assert events == {
        "left": ["Delivered", "SubscriptionChanged"],
        "dropped": [],
        "plain": ["Delivered"],
    }


def test_bounces_are_searched_counted_and_shown(caller: Caller) -> None:
    caller.send(
        a_message(1, To="hardbounce@bounce.example"), a_message(2, To="softbounce@bounce.example")
    )
    asked = {"count": 10, "offset": 0, "messagestream": "broadcast"}
    assert caller.get("/bounces", count=10, offset=0).json["TotalCount"] == 0
    assert caller.get("/bounces", **asked, type="SoftBounce").json["TotalCount"] == 1
    assert caller.get("/bounces", **asked, inactive="true").json["TotalCount"] == 1
    assert caller.get("/bounces", **asked, emailFilter="BOUNCE.ex").json["TotalCount"] == 2
    assert caller.get("/bounces", **asked, tag="other").json["TotalCount"] == 0
    assert caller.get("/bounces", offset=0).code == 1000
    assert caller.get("/bounces", **asked, type="Whim").code == 1000
    assert caller.get("/deliverystats").json == {
        "InactiveMails": 1,
        "Bounces": [
            {"Name": "All", "Count": 2},
            {"Type": "SoftBounce", "Name": "Soft bounce", "Count": 1},
            {"Type": "HardBounce", "Name": "Hard bounce", "Count": 1},
        ],
    }
    bounce = caller.get("/bounces", **asked, type="HardBounce").json["Bounces"][0]
    assert caller.get(f"/bounces/{bounce['ID']}").json == bounce
    assert "Tide tables" in caller.get(f"/bounces/{bounce['ID']}/dump").json["Body"]


def test_bounces_are_paged_and_filtered_by_message_and_day(caller: Caller) -> None:
    header = {"Name": "X-PM-Bounce-Type", "Value": "DnsError"}
    named = a_message(9, To="any@bounce-testing.postmarkapp.com", Headers=[header])
    soft = [a_message(n, To=f"softbounce+{n}@bounce.example") for n in range(3)]
    first = caller.send(named, *soft)[0]["MessageID"]
    stream = {"messagestream": "broadcast"}

    def found(count: int = 9, offset: int = 0, **query: str) -> list[str]:
        asked: dict[str, object] = {"count": count, "offset": offset, **stream, **query}
        return [one["Type"] for one in caller.get("/bounces", **asked).json["Bounces"]]

    assert [found(3, offset) for offset in (0, 3, 6)] == [["SoftBounce"] * 3, ["DnsError"], []]
    assert found(messageid=first.upper()) == ["DnsError"]
    assert len(found(fromdate="2020-01-01")) == len(found(inactive="false")) == 4
    assert found(todate="2020-01-01") == found(messageid="x") == found(inactive="true") == []
    wrong: list[dict[str, object]] = [{"count": 501}, {"offset": 9501}, {"inactive": "perhaps"}]
    for query in wrong:
        asked: dict[str, object] = {"count": 500, "offset": 0, **stream, **query}
        assert caller.get("/bounces", **asked).code == 1000


def test_bounce_becomes_active_unless_the_reader_unsubscribed(caller: Caller) -> None:
    address, asked = "hardbounce@bounce.example", {"count": 1, "offset": 0}

    def bounce() -> dict[str, object]:
        found = caller.get("/bounces", **asked, messagestream="broadcast").json
        return dict(found["Bounces"][0])

    caller.send(a_message(2, To="complaint@bounce.example"))
    assert caller.call("PUT", f"/bounces/{bounce()['ID']}/activate").code == 1003
    message = caller.send(a_message(1, To=address))[0]["MessageID"]
    reply = caller.call("PUT", f"/bounces/{bounce()['ID']}/activate").json
    assert (reply["Message"], reply["Bounce"]["Inactive"]) == ("OK", False)
    assert set(listed(caller)) == {"complaint@bounce.example"}
    caller.post("/__sandbox__/events", {"event": "Bounce", "message": message})
    assert bounce()["Inactive"] is True
    body = {"Suppressions": [{"EmailAddress": address}]}
    caller.post("/message-streams/broadcast/suppressions/delete", body)
    assert bounce()["Inactive"] is False
    caller.post("/__sandbox__/events", {"event": "Unsubscribe", "message": message})
    assert caller.call("PUT", f"/bounces/{bounce()['ID']}/activate").code == 1003
    assert listed(caller)[address] == ("ManualSuppression", "Recipient")


def test_postmark_adds_its_unsubscribe_link_and_headers() -> None:
    with SandboxServer(unsubscribe_handling="Postmark") as server:
        caller = Caller(server.url)
        first = caller.send(
            a_message(1, TextBody="Leave: {{{ pm:unsubscribe }}}", HtmlBody="<p>No link</p>")
        )[0]["MessageID"]
        message = server.sandbox.outbox.message(0)
        link = server.sandbox.unsubscribe_url(message)
        assert link == f"{server.url}/unsubscribe/{first}/"
        raw = caller.get(f"/messages/outbound/{first}/dump").json["Body"]
        assert f"List-Unsubscribe: <{link}>" in raw
        assert "List-Unsubscribe-Post: List-Unsubscribe=One-Click" in raw
        path = f"/unsubscribe/{first}/"
        assert caller.get(path).status == 200
        assert listed(caller) == {}
        for _ in range(2):
            assert caller.call("POST", path, b"List-Unsubscribe=One-Click").status == 200
        assert listed(caller) == {"reader1@example.net": ("ManualSuppression", "Recipient")}
