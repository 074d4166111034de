"""The texts of the repository are plain, and the linter finds what it should find."""

import pytest

from tests.plain_english.prose import (
    REPOSITORY,
    Text,
    hash_comments,
    markdown_texts,
    named_values,
    python_texts,
    script_texts,
    template_texts,
)
from tests.plain_english.rules import ALLOWED, RULES, all_findings, check

# One sentence for each rule, in the order of RULES.
PLANTED = (
    "Nothing is lost. Of the batches the first is taken.",
    "What is claimed stays claimed.",
    "That it was sent is recorded.",
    "It goes to whoever asked for it.",
    "It waits for so many seconds.",
    "The author mends the letter.",
    "The reason stands beside the button.",
    "The operator is told about it.",
    "One thing comes to the author.",
    "The worker goes on with the rest.",
    "The hold is over.",
    "Calls in the air end first.",
    "The copy is in line.",
    "The draft is saved by itself.",
    "It reads nobody else's rows.",
    "The worker lets go of its batch.",
    "It waits until a person decides.",
    "It returns no row that was settled.",
    "They are sorted so that rows and columns are equal.",
    "Two copies are in doubt.",
    "The errand is registered.",
    "The address is shut out.",
    "The only place that writes outcomes.",
)


@pytest.mark.parametrize(("rule", "sentence"), list(zip(RULES, PLANTED, strict=True)))
def test_each_rule_finds_its_planted_sentence(rule, sentence):
    found = [finding.instead for finding in check(Text("page", 1, "prose", sentence))]
    assert rule.instead in found


@pytest.mark.parametrize(
    ("texts", "path", "source"),
    [
        (python_texts, "a.py", '"""Claims go on."""\n'),
        (python_texts, "a.py", "claimed = 1\n# A claim goes\n# on here.\n"),
        (python_texts, "a.py", 'words = _("The claim goes " "on.")\n'),
        (python_texts, "a.py", 'words = f"The claim {name} goes on."\n'),
        (python_texts, "a.py", """words = f"{name or 'The claim goes on.'}"\n"""),
        (hash_comments, "a.yml", "one: 1  # It goes on.\n"),
        (named_values, "a.yml", "summary: It goes on.\n"),
        (named_values, "a.json", '{"title": "It goes on"}\n'),
        (template_texts, "a.html", "<p>The claim\n goes on.</p>"),
        (template_texts, "a.html", '<p title="It goes on">{{ name }}</p>'),
        (template_texts, "a.html", '{% translate "It goes on." %}'),
        (
            template_texts,
            "a.html",
            "{% blocktranslate %}It\n goes <b>on</b>.{% endblocktranslate %}",
        ),
        (template_texts, "a.html", "{% comment %}It goes on.{% endcomment %}"),
        (template_texts, "a.html", "<!-- It goes on. -->"),
        (
            template_texts,
            "a.html",
            '{% blocktranslate %}<a title="It goes on">One</a>{% endblocktranslate %}',
        ),
        (script_texts, "a.js", "// It goes on.\n"),
        (script_texts, "a.js", 'const words = "It goes on.";\n'),
        (markdown_texts, "a.md", "# Title\n\nThe claim goes\non.\n"),
        (markdown_texts, "a.md", "| Claim | It goes on |\n"),
    ],
)
def test_the_linter_reads_every_kind_of_text(texts, path, source):
    assert [finding for text in texts(path, source) for finding in check(text)]


def test_quotations_and_code_are_left_out():
    texts = markdown_texts("a.md", "The page says “it goes on”, and `goes on` is code.\n")
    assert not [finding for text in texts for finding in check(text)]


def test_long_sentences_of_pages_are_found():
    sentence = " ".join(["word"] * 21)
    reader = Text("templates/mail/letter.html", 1, "marked", sentence)
    author = Text("templates/publishing/check.html", 1, "marked", sentence)
    assert list(check(reader))
    assert not list(check(author))
    assert list(check(Text(author.path, 1, "marked", sentence * 2)))


def test_each_exception_names_a_file_and_its_reason():
    assert all(reason and (REPOSITORY / path).exists() for path, _, reason in ALLOWED)


def test_every_text_of_the_repository_is_plain():
    assert not [str(finding) for finding in all_findings([])]
