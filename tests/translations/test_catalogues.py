"""The catalogues are complete and compiled, and the check names every fault."""

import re

import pytest
from babel.messages.catalog import Catalog
from babel.messages.catalog import Message as Entry

from tests.translations.catalogues import (
    LANGUAGES,
    as_mo,
    entry_faults,
    faults,
    load,
    po_path,
)


# The German catalogue has every text of pages and mails. The other catalogues have only the texts
# that readers see. Commands and health checks stay English.
@pytest.mark.parametrize("code", LANGUAGES)
def test_catalogue_is_complete_and_without_faults(code: str) -> None:
    assert list(faults(code)) == [], "run python -m tests.translations, and translate the rest"


@pytest.mark.parametrize("code", LANGUAGES)
def test_catalogue_is_compiled(code: str) -> None:
    assert po_path(code).with_suffix(".mo").read_bytes() == as_mo(load(code))


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Hello {name}", "Hallo {nam}", "other placeholders or tags"),
        ("%(n)s of <b>%(all)s</b>", "%(n)s von %(all)s", "other placeholders or tags"),
        ("“Yes”", '"Ja"', "straight quotation marks"),
        ("Yes", " Ja", "spaces around it"),
        ("Yes", "", "missing"),
        ("Why?", "Quoi ?", "a space that breaks"),
        ("Why?", "Quoi\u202f?", None),
        (
            ("{n} day", "{n} days"),
            ("{n} Tag", "{n} Tage", "{n} Tage"),
            "3 plural forms instead of 2",
        ),
        (("{n} day", "{n} days"), ("ein Tag", "{m} Tage"), "other placeholders or tags"),
        (("{n} day", "{n} days"), ("ein Tag", "{n} Tage"), None),
    ],
)
def test_fault_of_a_translation_is_named(
    source: str, translation: str, expected: str | None
) -> None:
    code = "fr" if "Quoi" in translation else "de"
    found = list(entry_faults(Entry(source, translation), Catalog(locale=code)))

    assert found == ([expected] if expected else [])


def test_german_durations_need_no_dative() -> None:
    # A duration is inserted as “2 Tage”, but after these prepositions it would have to be “2
    # Tagen”.
    wrong = re.compile(r"\b(in|binnen|nach|seit|vor|von) (\{(time|late|wait)\}|%\((left|wait)\)s)")
    takes_a_duration = re.compile(r"\b(within|in|for|after|about) (\{|%\()(time|late|wait|left)\b")
    entries = [entry for entry in load("de") if takes_a_duration.search(str(entry.id))]
    assert len(entries) > 5
    assert [entry.string for entry in entries if wrong.search(str(entry.string))] == []
