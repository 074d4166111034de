"""What is found before an issue goes out, told from facts alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from publishing.looking_outside.domain_records import Records, Said
from publishing.looking_outside.link_answer import LinkAnswer, Trouble
from publishing.preflight.facts import Published
from publishing.preflight.finding import Where
from publishing.preflight.how_long_it_takes import Went, takes
from publishing.preflight.readers_since import Since, change_of_readers
from tests.publishing.preflight.facts_of import NOW, domain, facts, found, records, sentences

LINKED = '<p>See <a href="{}">the book</a>.</p>'
PICTURE = "<p><img {}></p>"


def advised(*args, **otherwise):
    return sentences(found(*args, **otherwise).advice)


def test_where_all_is_well_nothing_stops_and_nothing_is_advised():
    findings = found()

    assert findings.stops == findings.advice == findings.not_known == ()
    assert findings.sentence == "Nothing stops this issue."
    said = sentences(findings.in_order)
    for sentence in (
        "Every merge field has a value for every reader.",
        "A test was sent to edith@almanack.org at 06:50.",
        "Nothing like this was published in the last seven days.",
        "The size is far from the limit.",
        "The text part has 6 words.",
        "The language is set to English.",
        "SPF passes: the return path of almanack.org leads to Postmark.",
        "DMARC of almanack.org has forgeries refused (reject).",
    ):
        assert sentence in said


# --- Words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("otherwise", "sentence", "detail", "where"),
    [
        (
            {"letter": "<p>One.</p><p>Dear {{ nmae }},</p>"},
            "The letter uses a field that does not exist: {{ nmae }}",
            (
                "In the second paragraph. Was “{{ name }}” meant? Known fields are name, email, "
                "unsubscribe_url and archive_url."
            ),
            Where.LETTER,
        ),
        (
            {"letter": "<h2>For {{ whom }}</h2><p>Hello.</p>"},
            "The letter uses a field that does not exist: {{ whom }}",
            "In a heading. Known fields are name, email, unsubscribe_url and archive_url.",
            Where.LETTER,
        ),
        (
            {"letter": '<p><a href="https://a.org/{{ x9 }}">there</a></p>'},
            "The letter uses a field that does not exist: {{ x9 }}",
            (
                "In the address of a link. Known fields are name, email, unsubscribe_url and "
                "archive_url."
            ),
            Where.LETTER,
        ),
        (
            {"title": "For {{ archive_url }}"},
            "The title uses a field that does not exist: {{ archive_url }}",
            "Known fields are name and email.",
            Where.TITLE,
        ),
        (
            {"text": "One.\n\nTwo, {{ q }}.", "own_text": True},
            "The text part uses a field that does not exist: {{ q }}",
            (
                "In the second paragraph of the text part. Known fields are name, email, "
                "unsubscribe_url and archive_url."
            ),
            Where.TEXT,
        ),
        ({"title": ""}, "The title is empty; it becomes the subject of the mail.", "", Where.TITLE),
        (
            {"letter": " ", "text": ""},
            "Both parts are empty; write the text, the HTML, or both.",
            "",
            Where.LETTER,
        ),
    ],
)
def test_what_stops_is_named_with_its_place(otherwise, sentence, detail, where):
    (stop,) = found(**otherwise).stops

    assert sentences([stop]) == [sentence]
    assert (stop.detail, stop.where) == (detail, where)


def test_a_field_of_the_letter_that_is_in_the_text_made_of_it_is_named_once():
    assert len(found("<p>{{ nmae }} {{ nmae }}</p>", text="{{ nmae }}").stops) == 1


@pytest.mark.parametrize(
    ("letter", "sentence"),
    [
        ("<p>Dear {{ name,</p>", "A “{{” stands without its “}}” in the first paragraph"),
        ("<p>Dear name }},</p>", "A “}}” stands without its “{{” in the first paragraph"),
        (
            "<p>A</p><li>TODO: ask Ines</li>",
            "“TODO” in a list looks like a note that was forgotten",
        ),
        (
            "<p>Lorem ipsum dolor</p>",
            "“Lorem ipsum” in the first paragraph looks like a note that was forgotten",
        ),
        (
            "<p>Dear *|FNAME|*</p>",
            "“*|FNAME|*” in the first paragraph looks like a merge field of another program",
        ),
    ],
)
def test_what_was_left_lying_about_is_advice(letter, sentence):
    findings = found(letter)

    assert findings.stops == ()
    assert sentence in sentences(findings.advice)


@pytest.mark.parametrize(
    "letter", ["<p>{{{ pm:unsubscribe }}}</p>", "<p>todo mundo</p>", "<p>f(x) = {y}</p>"]
)
def test_what_only_looks_like_it_is_left_alone(letter):
    assert advised(letter) == []


def test_readers_without_a_name_are_counted_where_a_field_has_no_fallback():
    assert advised("<p>Dear {{ name }},</p>", nameless=312) == [
        "312 readers have no name, and there is no fallback for {{ name }}"
    ]
    assert advised("<p>Dear {{ name }},</p>", nameless=1) == [
        "One reader has no name, and there is no fallback for {{ name }}"
    ]
    assert advised("<p>Dear {{ name }},</p>", nameless=0) == []
    assert advised("<p>Dear {{ name|reader }},</p>", nameless=312) == []


# --- Pictures -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "is_markdown", "expected"),
    [
        ('src="https://a.org/s.png"', False, ["One picture has no alt text"]),
        ('src="https://a.org/s.png" alt=""', False, []),
        ('src="https://a.org/s.png" alt=""', True, ["One picture has no alt text"]),
        ('src="https://a.org/s.png" alt="A swift"', True, []),
        ('src="/pictures/1.png" alt="A swift"', True, []),
        ('src="http://a.org/s.png" alt="A"', False, ["One picture comes over http"]),
        ('src="s.png" alt="A"', False, ["One picture cannot be loaded by readers"]),
        (
            'src="data:image/png;base64,AA" alt="A"',
            False,
            ["One picture cannot be loaded by readers"],
        ),
        (
            'src="https://localhost/s.png" alt="A"',
            False,
            ["One picture cannot be loaded by readers"],
        ),
        (
            'src="https://192.168.1.4/s.png" alt="A"',
            False,
            ["One picture cannot be loaded by readers"],
        ),
    ],
)
def test_pictures(attributes, is_markdown, expected):
    assert advised(PICTURE.format(attributes), is_markdown=is_markdown) == expected


def test_pictures_of_a_site_that_nobody_reaches_from_outside():
    said = advised(
        PICTURE.format('src="/pictures/1.png" alt="A"'), site_url="http://127.0.0.1:8000"
    )

    # There is nothing to mend in the letter.
    assert said == ["Readers cannot reach this site"]


def test_pictures_from_elsewhere_are_looked_at_also_where_nobody_reaches_the_site():
    said = advised(
        PICTURE.format('src="https://localhost/1.png" alt="A"'), site_url="http://127.0.0.1:8000"
    )

    assert said == ["One picture cannot be loaded by readers", "Readers cannot reach this site"]


# --- Links ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/archive/", []),
        ("https://a.org/", []),
        ("mailto:edith@almanack.org?subject=Swifts", []),
        ("tel:+351123", []),
        ("#swifts", []),
        ("{{ archive_url }}", []),
        ("about.html", ["One link is relative"]),
        ("//a.org/", ["One link is relative"]),
        ("www.a.org", ["One link is relative"]),
        ("", ["One link leads nowhere"]),
        ("#", ["One link leads nowhere"]),
        ("mailto:edith", ["One link cannot be opened from a mail"]),
        ("javascript:alert(1)", ["One link cannot be opened from a mail"]),
        ("file:///home/edith/a.html", ["One link cannot be opened from a mail"]),
        ("https://localhost:8000/", ["One link leads to a place that readers cannot reach"]),
        ("https://10.0.0.7/", ["One link leads to a place that readers cannot reach"]),
        ("https://nas.local/", ["One link leads to a place that readers cannot reach"]),
        ("https://intranet/", ["One link leads to a place that readers cannot reach"]),
        ("http://a.org/", ["One link is http"]),
    ],
)
def test_links_as_they_are_written(address, expected):
    assert advised(LINKED.format(address)) == expected


A, B = "https://a.org/1911", "https://b.org/"


@pytest.mark.parametrize(
    ("answer", "weight", "sentence"),
    [
        (LinkAnswer(404), "advice", "One link answers 404"),
        (LinkAnswer(503), "advice", "One link answers 503"),
        (LinkAnswer(trouble=Trouble.NO_SUCH_HOST), "advice", "One link is dead"),
        (LinkAnswer(trouble=Trouble.NOT_PUBLIC), "advice", "One link is dead"),
        (LinkAnswer(403), "not_known", "One link could not be judged"),
        (LinkAnswer(trouble=Trouble.TOO_SLOW), "not_known", "One link could not be judged"),
        (LinkAnswer(trouble=Trouble.NOT_LOOKED_UP), "not_known", "One link could not be judged"),
        (LinkAnswer(200), "in_order", "The link answers."),
    ],
)
def test_links_as_they_answered(answer, weight, sentence):
    findings = found(LINKED.format(A), links={A: answer}, links_looked_at=NOW)

    (told,) = [each for each in getattr(findings, weight) if each.sentence == sentence]
    assert told.examples == ((A,) if weight != "in_order" else ())


def test_links_that_nobody_opened_yet_are_neither_well_nor_dead():
    unopened = found(LINKED.format(A))
    half = found(
        LINKED.format(A) + LINKED.format(B), links={A: LinkAnswer(200)}, links_looked_at=NOW
    )

    assert sentences(unopened.not_known) == ["The links have not been opened yet"]
    assert sentences(half.not_known) == ["One link could not be opened in time"]
    assert "answer" not in " ".join(sentences(half.in_order))


def test_links_that_are_each_readers_own_are_not_opened():
    said = found(LINKED.format("https://a.org/?who={{ email }}"))

    assert said.not_known == said.advice == ()


# --- The mail -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kilobytes", "expected"),
    [
        (80, []),
        (95, ["The letter has 95 kB, and Gmail cuts at 102 kB"]),
        (102, ["The letter has 102 kB, and Gmail cuts at 102 kB"]),
        (103, ["Gmail will cut this letter off: it has 103 kB"]),
    ],
)
def test_the_size_of_the_html_counts_in_bytes(kilobytes, expected):
    assert advised(html_mail="é" * (kilobytes * 512)) == expected


def test_a_mail_without_a_text_part_or_with_one_that_was_forgotten():
    long = f"<p>{'word ' * 100}</p>"

    assert advised(text="", text_mail=" ") == ["There is no text part"]
    assert advised(long, text="word " * 49, own_text=True) == [
        "The text part has 49 words and the letter 100"
    ]
    assert advised(long, text="word " * 50, own_text=True) == []
    assert advised(long, text="word", own_text=False) == []


@pytest.mark.parametrize(
    ("otherwise", "sentence"),
    [
        ({"preheader": ""}, "There is no preheader"),
        ({"postal_address": " "}, "There is no postal address"),
        (
            {"newsletter": "The Homing Letter", "is_named": False},
            "The newsletter is still called “The Homing Letter”",
        ),
        ({"language": ""}, "No language is set"),
        ({"readers": 0}, "This issue would go to nobody"),
        ({"test": None}, "No test of these words was sent"),
        ({"worker_is_there": False}, "No worker is running"),
        (
            {"earlier_versions_going": ("Version 1 is still being sent.",)},
            "Version 1 is still being sent.",
        ),
        (
            {"going": (Published("7", "Slow worms", NOW, waiting=30_112),)},
            "“Slow worms” is still going out",
        ),
        (
            {"same_lately": (Published("7", "Swifts leave", NOW),)},
            "This very title was published at 07:00",
        ),
        (
            {"same_lately": (Published("7", "Swifts leave", NOW, is_scheduled=True),)},
            "This very title is scheduled for 07:00",
        ),
        (
            {
                "same_lately": (
                    Published("7", "Swifts", NOW, has_the_same_words=True, is_scheduled=True),
                )
            },
            "These very words are scheduled for 07:00",
        ),
        (
            {
                "same_lately": (
                    Published(
                        "7", "Swifts", datetime(2026, 9, 12, tzinfo=UTC), has_the_same_words=True
                    ),
                )
            },
            "These very words were published at 12 September 2026, 01:00",
        ),
    ],
)
def test_what_else_is_advised(otherwise, sentence):
    assert advised(**otherwise) == [sentence]


def test_a_letter_of_the_authors_own_link_for_leaving_is_told_from_the_one_in_the_foot():
    own = sentences(found("<p>{{ unsubscribe_url }}</p>").in_order)
    foot = sentences(found("<p>Hello.</p>").in_order)

    assert "The link for leaving stands in the letter, and one-click unsubscribe is present." in own
    assert "The foot has the link to leave, and one-click unsubscribe is present." in foot


# --- The sender -----------------------------------------------------------------------------------

SILENCE = Records(Said.NO_ANSWER)


@pytest.mark.parametrize(
    ("otherwise", "sentence"),
    [
        ({"dmarc": records("v=DMARC1; p=none")}, "DMARC is “none” for almanack.org"),
        (
            {"dmarc": records("v=DMARC1; p=reject; sp=none"), "dmarc_at": "org"},
            "DMARC is “none” for almanack.org",
        ),
        ({"dmarc": records()}, "almanack.org has no DMARC record"),
        (
            {"dmarc": records("v=DMARC1; p=none", "v=DMARC1; p=reject")},
            "almanack.org has 2 DMARC records",
        ),
        ({"texts": records("v=spf1 -all", "v=spf1 ~all")}, "almanack.org has 2 SPF records"),
        ({"texts": records("v=spf1 +all")}, "SPF of almanack.org lets everybody send in its name"),
        (
            {"texts": records("v=spf1 mx ~all"), "return_path": records()},
            "SPF of almanack.org does not name Postmark",
        ),
        (
            {"texts": records("other"), "return_path": records()},
            "almanack.org has no SPF record and no return path at pm-bounces",
        ),
        ({"texts": Records(Said.NO_SUCH_NAME)}, "There is no domain almanack.org"),
    ],
)
def test_what_is_advised_about_the_senders_domain(otherwise, sentence):
    assert advised(domain=domain(**otherwise)) == [sentence]


def test_that_no_name_server_answered_is_neither_a_pass_nor_a_fault():
    findings = found(domain=domain(texts=SILENCE, dkim=SILENCE, return_path=SILENCE, dmarc=SILENCE))

    (told,) = findings.not_known
    assert told.sentence == "SPF, DKIM and DMARC of almanack.org could not be looked up"
    assert told.detail.startswith("No name server answered.")
    assert findings.advice == ()
    assert not any("SPF" in each or "DMARC" in each for each in sentences(findings.in_order))


def test_a_key_that_cannot_be_found_is_not_a_key_that_is_missing():
    findings = found(domain=domain(dkim=records()))

    assert findings.advice == ()
    assert "cannot be guessed" in findings.not_known[0].detail


@pytest.mark.parametrize(
    "text",
    ["k=rsa; p=", "k=rsa; p=;", "k=rsa; p= ", "p = ; k=rsa", "v=DKIM1; p=\t;", "n=p=MIGf; p=", ""],
)
def test_a_key_with_nothing_in_it_was_revoked_and_is_none(text):
    assert not domain(dkim=records(text)).has_dkim_key
    findings = found(domain=domain(dkim=records(text)))
    assert "could not be seen" in findings.not_known[0].sentence


@pytest.mark.parametrize("text", ["p=MIGf", "v=DKIM1; k=rsa; p = MIGf ;", "k=rsa;p=MI Gf=="])
def test_a_key_with_something_in_it_is_one(text):
    assert domain(dkim=records("k=rsa; p=", text)).has_dkim_key


def test_a_domain_for_examples_is_named_and_not_looked_up():
    findings = found(sender="Homing <letter@example.org>", domain=None, domain_looked_at=None)

    assert sentences(findings.advice) == ["The sender's domain example.org is one for examples"]
    assert findings.not_known == ()


def test_before_anybody_looked_that_is_said():
    findings = found(domain=None, domain_looked_at=None)

    assert sentences(findings.not_known) == [
        "The records of almanack.org have not been looked up yet"
    ]


# --- Summed up ------------------------------------------------------------------------------------


def test_the_sentence_counts_what_stops_and_what_is_advice():
    one = found("<p>{{ nmae }}</p>", preheader="", postal_address="", test=None)
    none = found(preheader="", postal_address="")
    unsure = found(domain=None, domain_looked_at=None)

    assert one.sentence == ("One thing stops this issue. Three more are advice and up to you.")
    assert one.what_is_left == "One stop is left:"
    assert none.sentence == "Nothing stops this issue. Two things are advice and up to you."
    assert unsure.sentence == "Nothing stops this issue. One thing is not known."


@pytest.mark.parametrize(
    "words",
    ["", "\x00", "<", "<a href='http://[x'>", "<p>" * 2000, "{{" * 500, "<img src='http://a:b/'>"],
)
def test_no_letter_makes_the_checks_fail(words):
    assert found(words, title=words, text=words, own_text=True).sentence


# --- Readers and time -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "since", "expected"),
    [
        (52_418, None, ""),
        (
            52_418,
            Since(52_103, 402, 61, 26, 0),
            "315 more than the last issue: 402 joined, 61 left, 26 bounced",
        ),
        (40, Since(43, 0, 2, 0, 1), "3 fewer than the last issue: 2 left, 1 complained"),
        (43, Since(43, 0, 0, 0, 0), "as many as the last issue"),
        (43, Since(43, 1, 1, 0, 0), "as many as the last issue: 1 joined, 1 left"),
        (50, Since(43, 1, 1, 0, 0), "7 more than the last issue"),
    ],
)
def test_how_the_number_of_readers_changed_with_reasons_only_where_they_add_up(
    now, since, expected
):
    assert change_of_readers(now, since) == expected


@pytest.mark.parametrize(
    ("readers", "earlier", "expected"),
    [
        (52_418, [], ""),
        (52_418, [Went(40, 0.2)], ""),
        (52_418, [Went(46_000, 1000.0)], "about 19 minutes"),
        (46, [Went(46_000, 1000.0)], "less than a minute"),
        (460_000, [Went(46_000, 1000.0)], "about 3 hours"),
        (0, [Went(46_000, 1000.0)], ""),
    ],
)
def test_how_long_it_takes_is_told_from_what_was_measured_or_not_at_all(readers, earlier, expected):
    assert takes(readers, earlier) == expected


def test_times_are_the_newsletters_own():
    assert facts().clock(NOW) == "07:00"
