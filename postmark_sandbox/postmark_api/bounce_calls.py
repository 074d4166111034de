"""Endpoints `/bounces` and `/deliverystats`."""

from postmark_sandbox.http import PostmarkError, Response, ok
from postmark_sandbox.postmark_api.call import ApiCall, dates, paging
from postmark_sandbox.rules.magic_addresses import SPAM_COMPLAINT
from postmark_sandbox.state.raw_mail import source


def search(call: ApiCall) -> Response:
    query = call.request.query
    count, offset = paging(query, 1000, "Bounces")
    found = call.sandbox.bounces.search(query, *dates(query, 1000, "Bounces"))
    page = [bounce.as_json() for bounce in found[offset : offset + count]]
    return ok({"TotalCount": len(found), "Bounces": page})


def dump(call: ApiCall) -> Response:
    return ok({"Body": source(call.sandbox.bounces.get(call.id).message)})


def activate(call: ApiCall) -> Response:
    bounce = call.sandbox.bounces.get(call.id)
    stream, address = bounce.message.stream, bounce.address
    blocked = call.sandbox.suppressions.blocks_lifting(stream, address)
    if bounce.type is SPAM_COMPLAINT or blocked:
        raise PostmarkError(1003, "This bounce cannot be activated.")
    bounce.active_again = True
    call.sandbox.events.lift(stream, address)
    return ok({"Message": "OK", "Bounce": bounce.as_json()})
