"""Every text that people see in the product is marked for translation."""

import pytest

from tests.translations.extract import REPOSITORY, files
from tests.translations.unmarked import unmarked_texts

UNMARKED = {
    "a.html": [
        "<p>One\n letter.</p>",
        '<a title="Read it">{{ title }}</a>',
        '<input type="submit" value="Send">',
        '{% include "a.html" with heading="Your letter" %}',
        '{{ name|default:"Nobody" }}',
        "{{ number|pluralize }}",
        "{% if late %}Too late{% else %}{% translate 'In time' %}{% endif %}",
    ],
    "a.py": [
        'label = "Preview text"',
        'raise ValidationError("The title is empty.")',
        'def words(n):\n    return f"{n} copies wait."',
        'help = _("Run it.") + "Then stop it."',
        "words = f\"{name}: {_('One letter')}\"",
        """sentence = f"{_('Held.')} {reason}\"""",
        'messages.error(request, "Nothing was sent.")',
        'fail(lease, "It failed. See the log.")',
    ],
}
MARKED = {
    "a.html": [
        '<p class="lede one">{% translate "One letter." %}</p>',
        "{% blocktranslate %}<b>One</b> letter.{% endblocktranslate %}",
        '{% include "a.html" with heading=_("Your letter") %}',
        "{% comment %}A reason.{% endcomment %}<script>Not text</script><code>./homing</code>",
        '{% if kind == "Letter" %}{{ 3 }}{% endif %}',
    ],
    "a.py": [
        '''"""Hold one row."""\nlabel = _("Preview text")''',
        'log.info("Claimed a batch")',
        'raise ValueError("Not a version")',
        'cursor.execute("SELECT one FROM rows")',
        'query = "UPDATE rows SET one"',
        'names = ["edition", "batch state"]',
    ],
}


@pytest.mark.parametrize("path", UNMARKED)
def test_unmarked_text_is_found_and_marked_text_accepted(path):
    assert [one for one in UNMARKED[path] if not list(unmarked_texts(path, one))] == []
    assert [one for one in MARKED[path] if list(unmarked_texts(path, one))] == []


def test_every_text_of_the_product_is_marked():
    found = [
        text for path in files() for text in unmarked_texts(path, (REPOSITORY / path).read_text())
    ]
    assert not found, "Mark these for translation:\n" + "\n".join(found)
