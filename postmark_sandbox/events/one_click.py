"""Unsubscribing as a mailbox provider would: whether a mail offers it by RFC 8058, and the POST.

Nothing on this machine is signed, so the signature that RFC 8058 asks for cannot be judged.
"""

import re
from typing import NamedTuple

import urllib3
from urllib3.filepost import encode_multipart_formdata

from postmark_sandbox.http import POST_TIMEOUT_S, is_loopback, read_url

# RFC 8058, section 3.1: the one value, and the body of a POST.
VALUE = "List-Unsubscribe=One-Click"
BOUNDARY = "one-click-unsubscribe"
MULTIPART = "multipart/form-data"
URLENCODED = "application/x-www-form-urlencoded"
# The type to ask for: the body and its Content-Type.
ENCODINGS = {
    MULTIPART: encode_multipart_formdata({"List-Unsubscribe": "One-Click"}, BOUNDARY),
    URLENCODED: (VALUE.encode(), URLENCODED),
}
# RFC 2369, section 2: URIs in angle brackets between commas, with white space and comments.
LIST_OF_URIS = re.compile(r"\s*<[^<>]+>(?:\s*,\s*<[^<>]+>)*\s*")
URI = re.compile(r"<([^<>]+)>")
COMMENT = re.compile(r"(>|,|^)\s*\([^()]*\)")
WEB = re.compile(r"\s*https?\s*:", re.IGNORECASE)


class OneClickLink(NamedTuple):
    """The URL to post to, None without exactly one, and the problems by RFC 8058."""

    url: str | None
    problems: list[str]


class OneClickResult(NamedTuple):
    """The status of a POST, None without one, and a sentence."""

    status: int | None
    sentence: str


def read_link(headers: list[tuple[str, str]]) -> OneClickLink:
    """Read the two headers of a mail among all of its headers."""
    url, problems = None, list[str]()
    for name in ("List-Unsubscribe", "List-Unsubscribe-Post"):
        values = [value.strip() for own, value in headers if own.lower() == name.lower()]
        if len(values) != 1:
            there = f"are {len(values)} {name} headers" if values else f"is no {name} header"
            problems.append(f"There {there}; expected exactly one.")
        elif name == "List-Unsubscribe":
            url, problems = _read_uri(values[0])
        elif values[0] != VALUE:
            problems.append(f"{name} is “{values[0]}”; expected exactly “{VALUE}”.")
    return OneClickLink(url, problems)


def unsubscribe(link: OneClickLink, encoding: str) -> OneClickResult:
    """Post as a mailbox provider does, if the headers are valid, and to this machine only."""
    if encoding not in ENCODINGS:
        raise ValueError(f"'encoding' is '{encoding}'; expected {' or '.join(ENCODINGS)}.")
    if link.problems or link.url is None:
        nothing = "Nothing was posted: a mailbox provider would show no button here."
        return OneClickResult(None, nothing)
    url = urllib3.util.parse_url(link.url)
    if not is_loopback((url.host or "").strip("[]")):
        nothing = f"Nothing was posted: the link leads to {url.host}, and the sandbox posts to"
        return OneClickResult(None, f"{nothing} this machine only.")
    body, content_type = ENCODINGS[encoding]
    try:
        response = urllib3.request(
            "POST",
            link.url,
            body=body,
            headers={"Content-Type": content_type},
            redirect=False,
            retries=False,
            timeout=POST_TIMEOUT_S,
        )
    except urllib3.exceptions.HTTPError as wrong:
        return OneClickResult(None, f"No answer came from {url.netloc}: {wrong}.")
    sentence = f"Answered {response.status}; expected 200 or 202."
    if 200 <= response.status < 300:
        sentence = f"Answered {response.status}: it works."
    elif 300 <= response.status < 400:
        where = f" to {response.headers['Location']}" if "Location" in response.headers else ""
        sentence = (
            f"Answered {response.status}, a redirect{where}: RFC 8058 forbids it; not followed."
        )
    return OneClickResult(response.status, sentence)


def _read_uri(value: str) -> tuple[str | None, list[str]]:
    plain = COMMENT.sub(r"\1", value)
    if not LIST_OF_URIS.fullmatch(plain):
        expected = "expected addresses in angle brackets with commas between them"
        return None, [f"List-Unsubscribe is “{value}”; {expected}."]
    links = [uri for uri in URI.findall(plain) if WEB.match(uri)]
    if len(links) != 1:
        count = f"{len(links)} web addresses" if links else "no web address"
        return None, [f"List-Unsubscribe has {count}; expected exactly one that begins https:."]
    url = links[0]
    parts = read_url(url)
    if parts is None or not url.isascii() or re.search(r"\s", url):
        return url, [f"The address “{url}” cannot be read; expected https://host/path."]
    problems = []
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        problems.append(f"The address begins http:; expected https:, to {parts.hostname}.")
    if "@" in parts.netloc:
        problems.append("The address holds a user name; a one-click POST signs in nowhere.")
    return url, problems
