"""Addresses are found in every spelling that a provider may use."""

import pytest

from delivery.redact_addresses import redact_addresses


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Invalid 'To' address: 'Ada.B+x@Example.ORG'.", "Invalid 'To' address: '…'."),
        ("no 'o'brien@example.org' here", "no '…' here"),
        ("a/b=c|d{e}@example.org is it", "… is it"),
        ("Ada <ada@example.org>, bob@x.de; end", "Ada <…>, …; end"),
        ('"ada lovelace"@example.org is gone', "… is gone"),
        ("“ada@example.org” (ada@example.org)!", "“…” (…)!"),
        ("ada@münchen.example and åda@xn--mnchen-3ya.example", "… and …"),
        ("GET /x?email=ada%40example.org&count=1", "GET /x?email=…&count=1"),
        ("?to=%22a%20b%22%2540example.org", "?to=…"),
        ("&lt;ada&#64;example.org&gt; and o&#39;b&commat;example.org", "…&gt; and …"),
        ("&quot;ada b&quot;&#x40;example.org is gone", "… is gone"),
        ("bounce+ada=example.org@pm.example", "…"),
        ('{"To":"ada\\u0040example.org"}', '{"To":"…"}'),
        ("550 5.1.1 <ada@[192.0.2.1]>... User unknown", "550 5.1.1 <…>... User unknown"),
        ("ada@example.org@relay.example, ada\uff20example.org", "…, …"),
        ("mailto:ada@example.org?subject=x", "mailto:…?subject=x"),
        ("the nul\x00@example.org", "the …"),
        # JSON that is quoted twice, with escapes that programs other than browsers write.
        (r'{"m":"\"To\": \"o\\\\u002bb\\\\u0040example.org\""}', r'{"m":"\"To\": \"…\""}'),
        ("o&amp;#39;b&amp;#64;example.org, b&#64example.org, c&#x40example.org", "…, …, …"),
        ("rcpt=20ada=40mail.example.org, 1 of limit=40", "…, 1 of limit=40"),
        ("ada%u0040example.org and ada%EF%BC%A0example.org", "… and …"),
        (r"ada\x40example.org and ada\100example.org", "… and …"),
        ("ada+AEA-example.org and ada\u200b@\u200bexample.org", "… and …"),
        # Addresses with blanks, line ends or comments, or with a word in place of the @.
        ("to ada @ example.org, ada\n@example.org.", "to …, …."),
        ("to ada@ example.org and ada (at) example.org", "to … and …"),
        ("bob[at]example.org, ada(home)@example.org (ada@example.org)", "…, … (…)"),
        (r'"ada \"x\" love"@example.org is gone', "… is gone"),
        ("We meet (at) noon, 5 @ 10.", "We meet (at) noon, 5 @ 10."),
        ("ada@", "…"),
        ("5 @ 3, postgres://[secret]@db", "5 @ 3, postgres://[secret]@db"),
        ("The 'From' address is not confirmed.", "The 'From' address is not confirmed."),
    ],
)
def test_an_address_is_redacted_and_the_sentence_stays(text: str, redacted: str) -> None:
    assert redact_addresses(text, "…") == redacted


@pytest.mark.parametrize(
    "part",
    [
        *("a", "@", "a@", '"', '"@', ";", " @", "&#", "%25", "&quot;", "&amp;", "%EF", "\\", "(a)"),
        *(" ", "=40", "@ a.", "\\u0040", '\\"@', ")@", " (at) a.b", "&#0"),
    ],
)
def test_long_texts_are_redacted_in_linear_time(part: str) -> None:
    """Quadratic time would take hours."""
    assert redact_addresses(part * 200_000 + " a@b", "…").endswith("…")
