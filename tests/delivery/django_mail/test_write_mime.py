"""A written message reads back as it was, whatever an author or reader wrote."""

from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.utils import parseaddr
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from delivery.django_mail.write_mime import BOUNDARY, write_mime
from tests.delivery.django_mail.smtp_calls import message

DATE = "Mon, 30 Nov 2026 12:00:00 -0000"
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\r") | st.sampled_from("\n.=é—🕊")
)
LINES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"]) | st.just(" "))


def read(**changed: Any) -> tuple[EmailMessage, bytes]:
    written = write_mime(message(1, **changed), DATE, {"X-Homing-Tag": "issue-1"})
    made = message_from_bytes(written, policy=policy.default)
    assert isinstance(made, EmailMessage)
    return made, written


@given(text=TEXTS.filter(bool), html=TEXTS.filter(bool))
def test_both_parts_arrive_as_written(text: str, html: str) -> None:
    made, written = read(text=text, html=html)
    parts = made.iter_parts()
    for part, kind, expected in zip(parts, ("plain", "html"), (text, html), strict=True):
        assert part.get_content_type() == f"text/{kind}"
        found = part.get_payload(decode=True)
        assert isinstance(found, bytes)
        assert found.replace(b"\r\n", b"\n") == expected.encode()
    assert written.isascii()
    assert max(map(len, written.split(b"\r\n"))) <= 998
    assert b"\n" not in written.replace(b"\r\n", b"")


@given(subject=LINES.filter(str.strip), name=LINES)
def test_headers_arrive_as_written(subject: str, name: str) -> None:
    made, written = read(subject=subject, sender=f'"{_quoted(name)}" <ada@example.org>')
    assert " ".join(made["Subject"].split()) == " ".join(subject.split())
    # The newer parser reads a blank between two encoded words, which means nothing (RFC 2047).
    shown, address = parseaddr(message_from_bytes(written)["From"])
    assert address == "ada@example.org"
    assert " ".join(str(make_header(decode_header(shown))).split()) == " ".join(name.split())
    assert made["Message-ID"] == "<issue.1.1@news.example.org>"
    assert written.count(b"\r\nSubject:") == 1


def test_no_value_can_begin_another_header() -> None:
    made, written = read(subject="Swifts\r\nBcc: eve@example.net\r\n\r\nMore", text="a", html="")
    assert made["Bcc"] is None
    subject = str(make_header(decode_header(message_from_bytes(written)["Subject"])))
    assert subject == "Swifts Bcc: eve@example.net More"


def test_a_single_part_needs_no_boundary() -> None:
    made, written = read(html="")
    assert made.get_content_type() == "text/plain"
    assert BOUNDARY.encode() not in written


def _quoted(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')
