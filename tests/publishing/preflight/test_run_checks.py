"""Test the checks before publishing, without database or network."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from delivery.issue_attributes import LETTER, TEXT, TITLE
from delivery.reader_fields import ReaderField
from publishing.content.edition_content import Content, find_problems
from publishing.editions.sending_time import estimate_duration
from publishing.external_checks.domain_records import DnsStatus, Records
from publishing.external_checks.open_link import LinkError, LinkResult
from publishing.preflight.checks.letter.dead_links import links_to_open
from publishing.preflight.finding import summarise
from publishing.preflight.link_address import AddressPart
from publishing.preflight.parse_letter import ParsedLetter
from publishing.preflight.readers_change import readers_change
from tests.publishing.preflight.context_factory import (
    NOW,
    domain,
    found,
    records,
    sentences,
)

LONG_AGO = datetime(2026, 9, 12, tzinfo=UTC)
LINKED = '<p>See <a href="{}">the book</a>.</p>'
PICTURE = "<p><img {}></p>"


def duplicate(**otherwise):
    return {"issue": "", "same_words": False, "is_scheduled": False, "at": NOW, **otherwise}


def advised(*args, **otherwise):
    return sentences(found(*args, **otherwise)["advice"])


def test_good_letter_has_no_stops_and_no_advice():
    findings = found()

    assert findings["stops"] == findings["advice"] == findings["unknown"] == []
    passed = " ".join(sentences(findings["passed"]))
    # Times are in the newsletter's time zone.
    for fact in ("edith@almanack.org (06:50)", "6 words", "English", "SPF", "(reject)"):
        assert fact in passed


@pytest.mark.parametrize(
    ("otherwise", "named", "location", "where"),
    [
        ({"letter": "<p>A.</p><p>{{ nmae }},</p>"}, "{{ nmae }}", "“{{ name }}”", LETTER),
        ({"letter": "<h2>For {{ whom }}</h2>"}, "{{ whom }}", "heading", LETTER),
        (
            {"letter": '<p><a href="https://a.org/{{ x9 }}">there</a></p>'},
            *("{{ x9 }}", "address of a link", LETTER),
        ),
        ({"title": "{{ archive_url }}"}, "{{ archive_url }}", "name and email", TITLE),
        (
            {"text": "One.\n\nTwo, {{ q }}.", "has_own_text": True},
            *("{{ q }}", "plain text, paragraph 2", TEXT),
        ),
        # The unknown field is in the letter and in the plain text made from it.
        (
            {"letter": "<p>{{ nmae }} {{ nmae }}</p>", "text": "{{ nmae }}"},
            *("{{ nmae }}", "", LETTER),
        ),
        ({"letter": "<p>a\0</p>", "text": "a\0"}, "NUL", "", LETTER),
        ({"title": ""}, "empty", "", TITLE),
        ({"letter": " ", "text": ""}, "empty", "", LETTER),
    ],
)
def test_each_stop_names_its_place(otherwise, named, location, where):
    (stop,) = found(**otherwise)["stops"]

    assert named in sentences([stop])[0]
    assert location in stop.detail
    assert stop.fix_in == where


@pytest.mark.parametrize(
    ("letter", "named"),
    [
        ("<p>Dear {{ name,</p>", "“{{”"),
        ("<p>Dear name }},</p>", "“}}”"),
        ("<p>A</p><li>TODO: ask Ines</li>", "“TODO” looks like a forgotten note (list)"),
        ("<p>Lorem ipsum dolor</p>", "“Lorem ipsum”"),
        ("<p>Dear *|FNAME|*</p>", "“*|FNAME|*”"),
    ],
)
def test_forgotten_notes_are_advice(letter, named):
    findings = found(letter)

    assert findings["stops"] == []
    assert named in " ".join(sentences(findings["advice"]))


@pytest.mark.parametrize(
    "letter", ["<p>{{{ pm:unsubscribe }}}</p>", "<p>todo mundo</p>", "<p>f(x) = {y}</p>"]
)
def test_similar_words_are_not_reported_as_notes(letter):
    assert advised(letter) == []


def test_missing_values_are_advice_unless_the_field_has_a_fallback():
    assert advised("<p>Dear {{ name }},</p>", without_value={"name": 312})[0].startswith(
        "312 readers"
    )
    assert advised("<p>Dear {{ name }},</p>", without_value={"name": 0}) == []
    assert advised("<p>Dear {{ name|reader }},</p>", without_value={"name": 312}) == []


CITY = ReaderField("city", "City", "City", "your town", "off")


def test_an_own_field_counts_the_readers_who_see_its_fallback():
    letter = "<p>News from {{ city }}</p>"
    well = found(letter, own_fields=[CITY], without_value={"city": 412})["passed"]
    assert "412 of 52,418 readers have no City and see “your town”." in "".join(sentences(well))
    bare = replace(CITY, fallback="")
    (sentence,) = advised(letter, own_fields=[bare], without_value={"city": 412})
    assert sentence.startswith("412 readers have no value")


@pytest.mark.parametrize(
    ("letter", "title", "text", "is_advised"),
    [
        ("<p>Use <code>{{</code> and <code>}}</code>.</p>", "T", "", False),
        ("<p>&lcub;{ {{ name|you }} &#125;}</p>", "T", "", False),
        (r"<p>\{{ x }} \{{ {'a': 1} }}</p>", r"\{{ x }}", r"\{{ x }} \{{", False),
        ("<p>{{ name|you }</p>", "T", "", True),
        ("<p>a", "name }}", "", True),
        ("<p>a", "T", r"\\{{ name", True),
    ],
)
def test_only_unescaped_braces_need_a_pair(letter, title, text, is_advised):
    braces = [one for one in advised(letter, title, text=text, has_own_text=True) if "match" in one]
    assert bool(braces) is is_advised


SITE = ReaderField("site", "Site", "x", "", autocomplete="off", is_own=True)


@pytest.mark.parametrize(
    ("address", "field", "readers"),
    [
        ("{{ site }}?e={{ email }}", "{{ site }}", 5),
        ("{{ site|https://a.example/ }}/x", "{{ site }}", 2),
        ("{{ site|a&amp;b }}", "{{ site }}", 5),
        ("https://{{ site|www }}.example.org/", "{{ site }}", 2),
        ("https://{{ site|a b }}.example.org/", "{{ site }}", 5),
        ("mailto:{{ site }}", "{{ site }}", 5),
        ("{{ email }}", "{{ email }}", 7),
        ("mailto:{{ email }}", "", 0),
        ("{{ archive_url }}?{{ site }}", "", 0),
        ("https://x.org/{{ site }}", "", 0),
    ],
)
def test_a_value_that_breaks_a_link_is_advice(address, field, readers):
    counts = {("site", part): (2, 3) for part in AddressPart}
    counts["email", AddressPart.BEGINNING] = (7, 0)
    otherwise = {"own_fields": [SITE], "without_value": {"site": 0}, "unfit_values": counts}
    broken = f"{readers} readers get a broken link because of {field}"
    for letter, text in ((LINKED.format(address), ""), ("", f"See {address} there")):
        if letter or address.startswith("https:"):
            advice = advised(letter, text=text, **otherwise)
            assert [one for one in advice if "link" in one] == ([broken] if field else [])


@pytest.mark.parametrize("value", ["https://a.example/", "a b", "www", "ä", "a@b.example", "tel:1"])
def test_the_patterns_of_addresses_know_valid_ones(value):
    fits = {part.name for part in AddressPart if re.search(part, value)}
    known = {"https://a.example/": "BEGINNING", "tel:1": "BEGINNING", "www": "HOST"}
    assert fits == {known.get(value, "RECIPIENT" if "@" in value else "")} - {""}


def test_an_own_field_is_known_in_each_part():
    content = Content.from_input(
        title="{{ city }}", html="<p>{{ city }}</p>", text="{{ city }}", preview_text="{{ city }}"
    )
    assert find_problems(content, [CITY]) == []
    assert len(find_problems(content)) == 4


def test_a_title_must_fit_with_the_fallbacks_of_its_fields():
    title = "{{ city }} " * 45
    (flaw,) = find_problems(Content.from_input(title=title, text="Gone."), [CITY])
    assert (flaw.attribute, "With the fallbacks" in flaw.sentence) == (TITLE, True)


def test_merge_fields_pass_only_if_all_are_known():
    sentence = "Every merge field has a value for every reader."
    assert sentence in sentences(found("<p>Dear {{ name|reader }},</p>")["passed"])

    findings = found("<p>Dear {{ name|reader }} and {{ nam }},</p>")
    assert findings["stops"]
    assert sentence not in sentences(findings["passed"])


@pytest.mark.parametrize(
    ("attributes", "is_markdown", "advice"),
    [
        ('src="https://a.org/s.png"', False, "alt text"),
        ('src="https://a.org/s.png" alt=""', False, ""),
        ('src="https://a.org/s.png" alt=""', True, "alt text"),
        ('src="https://a.org/s.png" alt="A swift"', True, ""),
        ('src="/pictures/1.png" alt="A swift"', True, ""),
        ('src="http://a.org/s.png" alt="A"', False, "uses http"),
        ('src="s.png" alt="A"', False, "cannot load"),
        ('src="data:image/png;base64,AA" alt="A"', False, "cannot load"),
        ('src="https://localhost/s.png" alt="A"', False, "cannot load"),
        ('src="https://192.168.1.4/s.png" alt="A"', False, "cannot load"),
    ],
)
def test_advice_about_images(attributes, is_markdown, advice):
    found_wrong = advised(PICTURE.format(attributes), is_markdown=is_markdown)

    assert len(found_wrong) == bool(advice)
    assert advice in "".join(found_wrong)


def test_other_images_are_checked_if_the_site_is_unreachable():
    on_this_machine = {"site_url": "http://127.0.0.1:8000"}
    own, other = (
        advised(PICTURE.format(f'src="{src}/1.png" alt="A"'), **on_this_machine)
        for src in ("/pictures", "https://localhost")
    )

    # If readers cannot reach the site, they cannot load its images either. One finding is enough.
    assert own == ["Readers cannot reach this site"]
    assert other == ["Readers cannot load 1 image", *own]


@pytest.mark.parametrize(
    ("advice", "addresses"),
    [
        ("", "/archive/ https://a.org/ mailto:edith@almanack.org?subject=Swifts tel:+351123"),
        ("", "#swifts {{archive_url}} //a.org/"),
        ("relative", "about.html www.a.org"),
        ("no address", " #"),
        ("opened from a mail", "mailto:edith javascript:alert(1) file:///home/edith/a.html"),
        ("private address", "https://localhost:8000/ https://10.0.0.7/ https://nas.local/"),
        ("private address", "https://intranet/"),
        ("uses http", "http://a.org/"),
    ],
)
def test_advice_about_links(advice, addresses):
    for address in addresses.split(" "):
        found_wrong = advised(LINKED.format(address))
        assert len(found_wrong) == bool(advice), address
        assert advice in "".join(found_wrong), address


A, B = "https://a.org/1911", "https://b.org/"


@pytest.mark.parametrize(
    ("answer", "weight"),
    [
        (LinkResult(404), "advice"),
        (LinkResult(410), "advice"),
        (LinkResult(503), "advice"),
        (LinkResult(error=LinkError.NO_SUCH_HOST), "advice"),
        (LinkResult(error=LinkError.NOT_PUBLIC), "advice"),
        (LinkResult(403), "unknown"),
        (LinkResult(error=LinkError.TIMEOUT), "unknown"),
        (LinkResult(error=LinkError.DNS_FAILED), "unknown"),
    ],
)
def test_results_of_opened_links_decide_their_group(answer, weight):
    findings = found(LINKED.format(A), links={A: answer}, links_checked_at=NOW)

    (result,) = findings[weight]
    assert result.examples == (A,)
    well = found(LINKED.format(A), links={A: LinkResult(200)}, links_checked_at=NOW)
    assert well["advice"] == well["unknown"] == []


def test_unopened_links_are_unknown():
    unopened = found(LINKED.format(A))
    half = found(
        LINKED.format(A) + LINKED.format(B), links={A: LinkResult(200)}, links_checked_at=NOW
    )

    assert len(unopened["unknown"]) == len(half["unknown"]) == 1
    assert "answer" not in " ".join(sentences(half["passed"]))


def test_links_with_merge_fields_are_not_opened():
    findings = found(LINKED.format("https://a.org/?who={{ email }}"))

    assert findings["unknown"] == findings["advice"] == []


@pytest.mark.parametrize("kilobytes", [81, 82, 102, 103])
def test_the_size_of_the_html_counts_in_bytes(kilobytes):
    advice = advised(html_mail="é" * (kilobytes * 512))

    assert len(advice) == (kilobytes > 81)
    assert all(f"{kilobytes} kB" in sentence for sentence in advice)
    assert ("will cut" in "".join(advice)) == (kilobytes > 102)


def test_missing_or_short_text_part_is_advice():
    long = f"<p>{'word ' * 100}</p>"

    assert len(advised(text="", text_mail=" ")) == 1
    (advice,) = advised(long, text="word " * 49, has_own_text=True)
    assert "49 of 100 words" in advice
    assert advised(long, text="word " * 50, has_own_text=True) == []
    assert advised(long, text="word", has_own_text=False) == []


@pytest.mark.parametrize(
    ("otherwise", "named"),
    [
        ({"preview_text": ""}, "preview text"),
        ({"postal_address": " "}, "postal address"),
        ({"name": "The Homing Letter"}, "“The Homing Letter”"),
        ({"language": ""}, "language"),
        ({"readers": 0}, "nobody"),
        ({"test": None}, "test"),
        ({"worker_is_running": False}, "worker"),
        ({"overlap_warnings": ("Version 1 is still being sent.",)}, "Version 1 is still"),
        ({"other_issues": [{"title": "Slow worms", "waiting": 30_112}]}, "“Slow worms”"),
        ({"recent_duplicates": [duplicate()]}, "same title was published (07:00)"),
        ({"recent_duplicates": [duplicate(is_scheduled=True)]}, "same title is scheduled (07:00)"),
        (
            {"recent_duplicates": [duplicate(same_words=True, is_scheduled=True)]},
            "same content is scheduled (07:00)",
        ),
        (
            {"recent_duplicates": [duplicate(same_words=True, at=LONG_AGO)]},
            "12 September 2026, 01:00",
        ),
    ],
)
def test_each_other_finding_is_advice(otherwise, named):
    (sentence,) = advised(**otherwise)
    assert named in sentence


SILENCE = Records(DnsStatus.NO_ANSWER)
NONE_FOR_SUBDOMAINS = "v=DMARC1; p=reject; sp=none"


@pytest.mark.parametrize(
    ("otherwise", "named"),
    [
        ({"dmarc": records("v=DMARC1; p=none")}, "DMARC is “none”"),
        ({"dmarc": records(NONE_FOR_SUBDOMAINS), "dmarc_at": "org"}, "DMARC is “none”"),
        ({"dmarc": records()}, "no DMARC"),
        ({"dmarc": records("v=DMARC1; p=none", "v=DMARC1; p=reject")}, "2 DMARC"),
        ({"texts": records("v=spf1 -all", "v=spf1 ~all")}, "2 SPF"),
        ({"texts": records("v=spf1 +all")}, "SPF of almanack.org lets everybody"),
        ({"texts": records("v=spf1 mx ~all"), "return_path": records()}, "does not name Postmark"),
        ({"texts": records("other"), "return_path": records()}, "no SPF record and no return path"),
        ({"texts": Records(DnsStatus.NO_SUCH_NAME)}, "almanack.org does not exist"),
    ],
)
def test_advice_about_the_senders_domain(otherwise, named):
    (sentence,) = advised(domain=domain(**otherwise))
    assert named in sentence


def test_unanswered_dns_query_is_unknown():
    silent = domain(texts=SILENCE, dkim=SILENCE, return_path=SILENCE, dmarc=SILENCE)
    for each in (silent, None):  # None: the records were not looked up yet
        findings = found(domain=each, domain_checked_at=each and NOW)

        assert len(findings["unknown"]) == 1
        assert findings["advice"] == []
        assert not any("SPF" in one or "DMARC" in one for one in sentences(findings["passed"]))


def test_dkim_key_that_was_not_found_is_unknown():
    findings = found(domain=domain(dkim=records()))

    assert (findings["advice"], len(findings["unknown"])) == ([], 1)


def test_empty_dkim_key_counts_as_missing():
    nothing = ["k=rsa; p=", "k=rsa; p=;", "k=rsa; p= ", "p = ; k=rsa", "v=DKIM1; p=\t;",
               "n=p=MIGf; p=", ""]  # fmt: skip
    assert [text for text in nothing if domain(dkim=records(text)).has_dkim_key] == []
    for text in ("p=MIGf", "v=DKIM1; k=rsa; p = MIGf ;", "k=rsa;p=MI Gf=="):
        assert domain(dkim=records("k=rsa; p=", text)).has_dkim_key


def test_placeholder_domain_is_not_looked_up():
    findings = found(sender="Homing <letter@example.org>", domain=None, domain_checked_at=None)

    assert "example.org" in sentences(findings["advice"])[0]
    assert findings["unknown"] == []


def test_summary_counts_stops_and_advice():
    one = found("<p>{{ nmae }}</p>", preview_text="", postal_address="", test=None)
    unsure = found(domain=None, domain_checked_at=None)

    assert summarise(one) == "Must fix: 1. Advice: 3."
    assert summarise(unsure) == "Ready to publish. Not checked: 1."


@pytest.mark.parametrize(
    "words",
    ["", "\x00", "<", "<a href='http://[x'>", "<p>" * 2000, "{{" * 500, "<img src='http://a:b/'>"],
)
def test_the_checks_accept_any_letter_without_an_error(words):
    assert found(words, title=words, text=words, has_own_text=True)


@pytest.mark.parametrize(
    ("now", "since", "expected"),
    [
        (
            52_418,
            (52_103, 402, 87, 0, 0),
            "315 more confirmed readers than at {last} (joined: 402, unsubscribed: 87)",
        ),
        (
            40,
            (43, 0, 0, 2, 1),
            "3 fewer confirmed readers than at {last} (bounced: 2, marked as spam: 1)",
        ),
        (43, (43, 0, 0, 0, 0), "as many confirmed readers as at {last}"),
        (
            43,
            (43, 1, 1, 0, 0),
            "as many confirmed readers as at {last} (joined: 1, unsubscribed: 1)",
        ),
        (44, (43, 5, 1, 0, 0), "1 more confirmed reader than at {last}"),
    ],
)
def test_readers_change_has_reasons_only_if_they_add_up(now, since, expected):
    before, *counts = since
    acts = dict(zip(("confirmed", "left", "bounced", "complained"), counts, strict=True))
    change = readers_change(before, now, acts, date="2 July 2026")
    assert change == expected.format(last="the last issue on 2 July 2026")


@pytest.mark.parametrize(
    ("readers", "earlier", "rate_per_s", "expected"),
    [
        (52_418, [], None, ""),
        (52_418, [(40, 0.2)], None, ""),
        (52_418, [(46_000, 1000.0)], None, "about 19 minutes"),
        (46, [(46_000, 1000.0)], None, "less than a minute"),
        (460_000, [(46_000, 1000.0)], None, "about 3 hours"),
        (0, [(46_000, 1000.0)], None, ""),
        (3_600, [], 1.0, "about 60 minutes"),
        (36_000, [(46_000, 1000.0)], 1.0, "about 10 hours"),
    ],
)
def test_duration_is_estimated_from_large_samples_only(readers, earlier, rate_per_s, expected):
    assert estimate_duration(readers, earlier, rate_per_s) == expected


@pytest.mark.parametrize(("length", "is_long"), [(50, False), (51, True)])
def test_a_subject_longer_than_phones_show_is_advice(length, is_long):
    advice = advised(title="x" * (length - 5) + " {{ name|Adah }}")

    assert any(f"The subject has {length} characters" in one for one in advice) == is_long


def test_a_script_in_the_letter_is_advice():
    for script in ("<script>track()</script>", '<p>Gone.</p><SCRIPT src="https://a.org/x.js">'):
        (advice,) = [one for one in advised(letter=f"<p>A.</p>{script}") if "script" in one]
        assert "contains a script" in advice
    assert not any("script" in one for one in advised(letter="<p>&lt;script> scripted</p>"))


def test_only_the_first_200_links_are_opened():
    addresses = [f"https://almanack.org/{number}" for number in range(203)]
    letter = "".join(LINKED.format(address) for address in addresses)

    assert links_to_open(ParsedLetter(letter), "https://letters.almanack.org") == addresses[:200]
    answers = {address: LinkResult(status=200) for address in addresses}
    findings = found(letter, links=answers, links_checked_at=NOW)
    assert sentences(findings["unknown"]) == ["3 links were not opened"]
    assert "The first 200 links answer." in sentences(findings["passed"])
