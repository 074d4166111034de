"""Every address of the site, by its route, with values for all parameters."""

import re
from dataclasses import dataclass

from django.urls import get_resolver
from django.urls.resolvers import URLPattern, URLResolver

SOMETHING = {
    "uuid": "00000000-0000-0000-0000-000000000007",
    "uuidstr": "00000000-0000-0000-0000-000000000007",
    "int": "7",
    "slug": "pause",
    "address": "something",
    "str": "something",
    "path": "7",
}
_PLACE = re.compile(r"<(?:(\w+):)?(\w+)>")
# Routes that are regular expressions, each with a path that it matches.
_BY_HAND = {
    r"^(?P<app_label>auth|newsletter_site|admin)/$": "auth/",
    r"(?P<url>.*)$": "nothing-here",
    r"^[/]*(?=(?i:archive)/)[A-Za-z]+/+(?P<rest>[\s\S]+)$": "archive/nothing/here/",
    r"^[/]*(?=(?i:unsubscribe)/)[A-Za-z]+/+(?P<token>[\s\S]*)$": "unsubscribe/to/ken",
    r"^[/]*(?=(?i:preferences)/)[A-Za-z]+/+(?P<token>[\s\S]*)$": "preferences/to/ken",
    r"^[/]*(?=(?i:record)/)[A-Za-z]+/+(?P<token>[\s\S]*)$": "record/to/ken/",
    r"^[/]*(?=(?i:subscriptions/+confirm)/)[\s\S]+$": "subscriptions//confirm/",
}


@dataclass(frozen=True)
class Address:
    route: str
    path: str


def every_address(**known: str) -> list[Address]:
    """Return all addresses. `known` has values for parameters by name."""
    # Django's own view fails for models whose key is a UUID, so this id is of no content type.
    known = {"content_type_id": "0", **known}
    found = {}
    for route, text in _routes(get_resolver().url_patterns):
        path = _PLACE.sub(lambda m: known.get(m[2]) or SOMETHING[m[1] or "str"], text)
        found.setdefault(route, Address(route, f"/{path}"))
    return list(found.values())


def _routes(patterns: list[URLPattern | URLResolver], before: str = "") -> list[tuple[str, str]]:
    routes = []
    for one in patterns:
        text = str(one.pattern)
        if isinstance(one, URLResolver):
            routes += _routes(one.url_patterns, before + text)
        else:
            routes.append((before + text, before + _BY_HAND.get(text, text)))
    return routes
