"""Endpoints under `/messages/outbound`: search messages, and read one message."""

import sys
from typing import Any

from postmark_sandbox.http import PostmarkError, Response, ok
from postmark_sandbox.postmark_api.call import ApiCall, dates, paging
from postmark_sandbox.rules.addresses import read_list
from postmark_sandbox.state.accepted_messages import Message, by_query
from postmark_sandbox.state.raw_mail import source
from postmark_sandbox.times import NS_PER_SECOND, eastern_text, now_ns

STATUSES = ("queued", "sent", "processed")


def search(call: ApiCall) -> Response:
    """Handle `GET /messages/outbound`: one page of matches, newest first."""
    query, outbox = call.request.query, call.sandbox.outbox
    invalid = "Messages query is not valid:"
    count, offset = paging(query, 700, "Messages")
    since, until = dates(query, 700, "Messages")
    status = query.get("status", "sent")
    if status.lower() not in STATUSES:
        raise PostmarkError(700, f"{invalid} 'status' '{status}' is not known.")
    by_metadata = [(k[9:], v) for k, v in query.items() if k.startswith("metadata_")]
    if len(by_metadata) > 1:
        raise PostmarkError(700, f"{invalid} only one metadata field can be searched at a time.")
    matches = by_query(query, since, min(until, _indexed_until(call)))
    carrying = outbox.with_metadata(*by_metadata[0]) if by_metadata else None
    # The sandbox sends every message at once, so no message has the status `queued`.
    among = [] if status.lower() == "queued" else carrying
    total, numbers = outbox.find_page(matches, offset, count, among)
    messages = [_described(outbox.message(number)) for number in numbers]
    return ok({"TotalCount": total, "Messages": messages})


def show(call: ApiCall) -> Response:
    """Handle `GET /messages/outbound/{id}/details`, and `/dump` for the source."""
    message = call.sandbox.outbox.find(call.id)
    if message is None or message.at_ns > _indexed_until(call):
        raise PostmarkError(701, "This message was not found.")
    body = {"Body": source(message, call.sandbox.unsubscribe_url(message))}
    if call.request.path.lower().endswith("/dump"):
        return ok(body)
    bodies = {name: message.item.get(name) or "" for name in ("TextBody", "HtmlBody")}
    events = {"MessageEvents": call.sandbox.events.as_json(message)}
    return ok(_described(message) | bodies | body | events)


def _indexed_until(call: ApiCall) -> int:
    """Return the time until which accepted messages are in the index, in nanoseconds."""
    if call.fault is None or call.fault.kind != "search_delay":
        return sys.maxsize
    return now_ns() - int(call.fault.settings["seconds"] * NS_PER_SECOND)


def _described(message: Message) -> dict[str, Any]:
    item = message.item
    return {
        "Tag": message.tag,
        "MessageID": message.id,
        "MessageStream": message.stream,
        **{
            field: [
                {"Email": box.address, "Name": box.name}
                for box in read_list(item.get(field) or "", field)
            ]
            for field in ("To", "Cc", "Bcc")
        },
        "Recipients": message.recipients,
        "ReceivedAt": eastern_text(message.at_ns),
        "From": item["From"],
        "Subject": message.subject,
        "Attachments": [a["Name"] for a in item.get("Attachments") or []],
        "Status": "Sent",
        "TrackOpens": bool(item.get("TrackOpens")),
        "TrackLinks": item.get("TrackLinks") or "None",
        "Metadata": message.metadata,
        "Sandboxed": True,
    }
