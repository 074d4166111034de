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
        ("ada@", "…"),
        ("5 @ 3, postgres://[secret]@db", "5 @ 3, postgres://[secret]@db"),
        ("The 'From' address is not confirmed.", "The 'From' address is not confirmed."),
    ],
)
def test_an_address_is_redacted_and_the_sentence_stays(text: str, redacted: str) -> None:
    assert redact_addresses(text, "…") == redacted


@pytest.mark.parametrize("part", ["a", "@", "a@", '"', '"@', ";", " @", "&#", "%25", "&quot;"])
def test_long_texts_are_redacted_in_linear_time(part: str) -> None:
    """Quadratic time would take hours."""
    assert redact_addresses(part * 200_000 + " a@b", "…").endswith("…")
