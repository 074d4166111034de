"""Every text that people see in the product is marked for translation."""

import pytest

from tests.plain_english.prose import prose_files, template_texts
from tests.plain_english.translation_marks import PRODUCT, unmarked_in_python, unmarked_texts


@pytest.mark.parametrize(
    "source",
    [
        "<p>One\n letter.</p>",
        '<a title="Read it">{{ title }}</a>',
        '<input type="submit" value="Send">',
        '{% include "a.html" with heading="Your letter" %}',
        '{{ name|default:"Nobody" }}',
        "{{ number|pluralize }}",
        "{% if late %}Too late{% else %}{% translate 'In time' %}{% endif %}",
    ],
)
def test_unmarked_text_in_a_template_is_found(source):
    assert [text for text in template_texts("a.html", source) if text.kind == "unmarked"]


@pytest.mark.parametrize(
    "source",
    [
        '<p class="lede one">{% translate "One letter." %}</p>',
        "{% blocktranslate %}<b>One</b> letter.{% endblocktranslate %}",
        '{% include "a.html" with heading=_("Your letter") %}',
        "{% comment %}A reason.{% endcomment %}<script>Not text</script><code>./homing</code>",
        '{% if kind == "Letter" %}{{ 3 }}{% endif %}',
    ],
)
def test_marked_text_in_a_template_is_accepted(source):
    assert not [text for text in template_texts("a.html", source) if text.kind == "unmarked"]


@pytest.mark.parametrize(
    "source",
    [
        'label = "Preview text"',
        'raise ValidationError("The title is empty.")',
        'def words(n):\n    return f"{n} copies wait."',
        'help = _("Run it.") + "Then stop it."',
        "words = f\"{name}: {_('One letter')}\"",
        """sentence = f"{_('Held.')} {reason}\"""",
        'messages.error(request, "Nothing was sent.")',
        'raise NoReceiptError("The copies were deleted.")',
        'fail(lease, "It failed. See the log.")',
    ],
)
def test_unmarked_text_in_python_is_found(source):
    assert list(unmarked_in_python(source))


@pytest.mark.parametrize(
    "source",
    [
        '"""Hold one row."""\nlabel = _("Preview text")',
        'log.info("Claimed a batch")',
        'raise ValueError("Not a version")',
        'cursor.execute("SELECT one FROM rows")',
        'query = "UPDATE rows SET one"',
        'names = ["edition", "batch state"]',
    ],
)
def test_code_and_logs_need_no_mark(source):
    assert not list(unmarked_in_python(source))


def test_every_text_of_the_product_is_marked():
    assert not [
        f"{path}:{line}: {words}"
        for path in prose_files(*PRODUCT)
        for line, words in unmarked_texts(path)
    ]
