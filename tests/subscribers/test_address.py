"""Validation of addresses and of readers' names."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from delivery.reader_fields import NAME
from subscribers import address
from subscribers.address import read_address
from subscribers.fields.reader_values import read_value, shown_again
from subscribers.refusal_sentences import InputRefusal, refuse, sentence_of


@pytest.mark.parametrize(
    ("typed", "mailed"),
    [
        ("ada@example.org", "ada@example.org"),
        ("A.B+tag@EXAMPLE.COM", "A.B+tag@example.com"),
        ("Postmaster@Example.com", "Postmaster@example.com"),
        ("o'neill_{x}|~`!#$%&*/=^@example.org", "o'neill_{x}|~`!#$%&*/=^@example.org"),
        ("a@exämple.com", "a@xn--exmple-cua.com"),
        ("a@XN--Exmple-cua.com", "a@xn--exmple-cua.com"),
        ("a@EXA\u0308MPLE.com", "a@xn--exmple-cua.com"),
        (" \u00a0\t a@example.com\n", "a@example.com"),
        ("a@a--b.example.org", "a@a--b.example.org"),
    ],
)
def test_the_domain_alone_becomes_lower_case_ascii(typed: str, mailed: str) -> None:
    assert read_address(typed) == mailed


@pytest.mark.parametrize(
    "code",
    [
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        *range(0x200B, 0x2010),
        *range(0x2060, 0x2065),
        *(0x061C, 0x180E, 0x00AD, 0xFEFF, 0xFE0F, 0xE0041),
    ],
)
def test_invisible_characters_are_removed_around_and_refused_inside(code: int) -> None:
    sign = chr(code)
    assert read_address(f"{sign} {sign}ada@example.org{sign}\n{sign}") == "ada@example.org"
    for inside in (f"a{sign}da@example.org", f"ada@exam{sign}ple.org", f"ada@{sign}example.org"):
        refusal = read_address(inside)
        assert refusal == refuse("address_invisible", characters=f"U+{code:04X}")
        assert f"U+{code:04X}" in sentence_of(refusal)


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("", "missing"),
        ("ada", "no_at_sign"),
        ("ada@@example.org", "two_at_signs"),
        ("ada@localhost", "after_at_sign"),
        ("ada@printing.test", "after_at_sign"),
        ("ada@printer.local", "after_at_sign"),
        ("ada@[127.0.0.1]", "after_at_sign"),
        ("ada@example..org", "after_at_sign"),
        ("ada@", "after_at_sign"),
        ("ada@example.org, bob@example.org", "two_at_signs"),
        ("ada@example.org\nBcc: bob@example.org", "two_at_signs"),
        ("a da@example.org", "space"),
        ("@example.org", "before_at_sign"),
        ("a..da@example.org", "before_at_sign"),
        ('"a da"@example.org', "space"),
        ("Ada <ada@example.org>", "space"),
        ("ädä@example.org", "characters"),
        ("who?@example.org", "question_mark"),
        ("ada@xn--a.com", "after_at_sign"),
        (f"{'a' * 65}@example.org", "before_at_sign"),
        (f"ada@{'b' * 64}.org", "after_at_sign"),
        (f"ada@{'.'.join(['b' * 50] * 5)}.org", "too_long"),
        # This address is short enough in Unicode, but too long in ASCII.
        (f"{'a' * 60}@{'.'.join(['ü' * 40] * 4)}.org", "after_at_sign"),
    ],
)
def test_an_invalid_address_is_refused_with_its_fault(typed: str, code: str) -> None:
    refusal = read_address(typed)
    assert isinstance(refusal, InputRefusal)
    assert refusal.code == f"address_{code}"
    assert sentence_of(refusal).endswith(".")
    control = read_address("ü\x07da@example.org")
    assert control == refuse("address_characters", characters="ü U+0007")


# Hypothesis draws edge cases in which the fast and the full validation could differ.
LOCAL_PARTS = st.text(
    string.ascii_letters + string.digits + ".!#$%&'`*+-/=^_{}|~?\" é", max_size=70
)
LABELS = st.one_of(
    st.text(string.ascii_letters + string.digits + "-_ü", min_size=1, max_size=66),
    st.sampled_from(["xn--mhle-0ra", "xn--a", "test", "LOCAL", "arpa", "onion", "com", "a--b", ""]),
)
ADDRESSES = st.builds(
    lambda local, labels: f"{local}@{'.'.join(labels)}",
    LOCAL_PARTS,
    st.lists(LABELS, min_size=1, max_size=6),
)


@given(ADDRESSES)
@example("a@b.test")
@example("a@b.c.LOCAL")
@example(f"{'a' * 65}@example.org")
@example(f"a@{'b' * 64}.org")
@example(f"a@{'.'.join(['b' * 60] * 4)}.org")
@example(f"{'a' * 60}@{'.'.join(['b' * 60] * 3)}.example.org")
@example("ab--c@ab--c.org")
def test_fast_and_full_validation_agree(typed: str) -> None:
    fast = address._plain(typed)
    assert fast is None or fast == address._careful(typed)


def test_a_usual_address_uses_fast_validation() -> None:
    assert address._plain("ada.whitlock+letters@posthouse.example.org") is not None


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("", ""),
        ("  Ada   Whitlock ", "Ada Whitlock"),
        ("Ada\r\nWhitlock", "Ada Whitlock"),
        ("Ada\tWhitlock", "Ada Whitlock"),
        ("O'Neill, Nóra “Nan” 王小燕 🐦", "O'Neill, Nóra “Nan” 王小燕 🐦"),
        ("x" * 256, "x" * 256),
        ("x" * 256 + "\u200f", "x" * 256),
        ("Ada\u202etolreppa\u202c", "Adatolreppa"),
        ("\u2068Ada \u200e\u2069 Whitlock\u061c", "Ada Whitlock"),
        ("\u202a\u202b\u202d\u2066\u2067\u200f", ""),
        # Joiners are part of Persian and Hindi words, and of emoji.
        *((name, name) for name in ("علی\u200cرضا", "क्\u200dष", "שרה לוי", "👩\u200d🌾")),
    ],
)
def test_a_name_is_kept_as_written_in_one_line(typed: str, kept: str) -> None:
    assert read_value(NAME, typed) == kept


@pytest.mark.parametrize("control", ["\x00", "\x01", "\x07", "\x1b", "\x7f", "\x9b"])
def test_a_name_with_control_characters_is_refused(control: str) -> None:
    refusal = refuse("field_control_characters", field="name")
    assert read_value(NAME, f"Ada{control}Whitlock") == refusal
    assert sentence_of(refusal) == "“Name” contains invisible control characters. Remove them."
    assert shown_again(f" Ada{control}Whitlock\n") == "Ada\N{REPLACEMENT CHARACTER}Whitlock"


def test_a_name_of_more_than_256_characters_is_refused() -> None:
    refusal = refuse("field_too_long", field="name", length=257, longest=256)
    assert read_value(NAME, "x" * 257) == refusal
    assert sentence_of(refusal) == "“Name” has 257 characters. At most 256 are allowed."
