"""Markdown becomes the HTML of a letter, with unchanged merge fields."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.mail.merge_fields import FIELD_PATTERN, FieldTemplate
from publishing.content.markdown import render_markdown
from publishing.content.public_html import sanitise_html


def one_line(markdown: str) -> str:
    return render_markdown(markdown).replace("\n", "")


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("Dear {{ name|there }},", "<p>Dear {{ name|there }},</p>"),
        ("# Dear {{ name }}", "<h1>Dear {{ name }}</h1>"),
        ("Dear {{ name }}\n===", "<h1>Dear {{ name }}</h1>"),
        ("**{{ name|there }}**", "<p><strong>{{ name|there }}</strong></p>"),
        ("a**{{ name }}**b", "<p>a<strong>{{ name }}</strong>b</p>"),
        ("- {{ name }}\n- x", "<ul><li>{{ name }}</li><li>x</li></ul>"),
        ("> {{ name }}", "<blockquote><p>{{ name }}</p></blockquote>"),
        ("`{{ name }}`", "<p><code>{{ name }}</code></p>"),
        ("    {{ name }}", "<pre><code>{{ name }}</code></pre>"),
        ("```\n{{ name }}\n```", "<pre><code>{{ name }}</code></pre>"),
        ("{{ name|*not* _this_ `way` }}", "<p>{{ name|*not* _this_ `way` }}</p>"),
        ("{{name}}{{email}}", "<p>{{name}}{{email}}</p>"),
        ("{{{ pm:unsubscribe }}}", "<p>{{{ pm:unsubscribe }}}</p>"),
    ],
)
def test_merge_field_survives_everywhere_in_the_text(written: str, made: str) -> None:
    assert one_line(written) == made


@pytest.mark.parametrize(
    "written",
    [
        "[read]({{ archive_url }})",
        "[read](<{{ archive_url }}>)",
        "[read][there]\n\n[there]: {{ archive_url }}",
        "[read]\n\n[read]: {{ archive_url }}",
    ],
)
def test_field_as_link_address_keeps_spaces_and_braces(written: str) -> None:
    assert one_line(written) == '<p><a href="{{ archive_url }}">read</a></p>'


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("[x](https://e.org/?to={{ email }}&a=1)", "https://e.org/?to={{ email }}&amp;a=1"),
        ("[x](https://{{ name|www }}.example.org/)", "https://{{ name|www }}.example.org/"),
        ("[x]({{{ pm:unsubscribe }}})", "{{{ pm:unsubscribe }}}"),
        ("[x](mailto:{{ email }})", "mailto:{{ email }}"),
    ],
)
def test_a_field_within_an_address_is_not_encoded(written: str, made: str) -> None:
    assert f'href="{made}"' in render_markdown(written)


def test_field_within_title_or_alt_keeps_surrounding_quotes() -> None:
    made = render_markdown('![for {{ name|"you" }}](/p.png "to {{ name }}")')
    assert 'alt="for {{ name|&quot;you&quot; }}" title="to {{ name }}"' in made


def test_bar_of_a_field_does_not_end_a_cell() -> None:
    made = one_line("| a | b |\n|---|---|\n| {{ name|there }} | y |")
    assert "<td>{{ name|there }}</td><td>y</td>" in made


def test_a_fallback_in_markdown_is_words_and_no_html() -> None:
    made = render_markdown("{{ name|<b>you</b> & me }}")
    assert made == "<p>{{ name|&lt;b&gt;you&lt;/b&gt; &amp; me }}</p>\n"
    assert FieldTemplate(made, html=True).fill({}) == "<p>&lt;b&gt;you&lt;/b&gt; &amp; me</p>\n"


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_language_of_a_code_block_is_removed(fence: str) -> None:
    made = render_markdown(f"{fence} {{{{ name }}}}\n{{{{ email }}}}\n{fence}")
    assert made == "<pre><code>{{ email }}\n</code></pre>\n"


FIELDS = st.sampled_from(
    ["{{ name }}", "{{name|there}}", "{{ name|a *b* }}", "{{ archive_url }}", "{{{ pm:x }}}"]
)
MARKS = st.sampled_from(
    ["*", "**", "_", "`", "```\n", "[", "](", ")", "# ", "> ", "- ", "1. ", "|", "|-|-|\n", "\n",
     "\n\n", "    ", "~~", "<", ">", "&", "&amp;", "\\", "!", "https://", '"', "word", " ", "---"]
)  # fmt: skip


@given(st.lists(FIELDS | MARKS, max_size=25))
def test_every_field_survives_once_in_any_markdown(pieces: list[str]) -> None:
    written = "".join(pieces)
    # A label of a reference, a title that nobody uses and the language of code are not part of the
    # letter.
    if "]:" in written or "](" in written or "```" in written or "~~~" in written:
        return
    assert FIELD_PATTERN.findall(render_markdown(written)) == FIELD_PATTERN.findall(written)


@given(st.text(max_size=200))
def test_any_text_renders_as_markdown(written: str) -> None:
    render_markdown(written)


def test_html_within_markdown_stays_words() -> None:
    assert one_line("<script>x</script>") == "<p>&lt;script&gt;x&lt;/script&gt;</p>"
    assert one_line("~~old~~ new") == "<p><s>old</s> new</p>"
    assert one_line("![Eight *swifts*](/pictures/1.png)") == (
        '<p><img src="/pictures/1.png" alt="Eight swifts" /></p>'
    )


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "vbscript:x",
        "data:text/html,x",
        "{{ name|javascript:alert(1) }}",
        "{{ name| javascript:alert(1) }}",
        "java{{ name|script:alert(1) }}",
    ],
)
@pytest.mark.parametrize("written", ["[x](<{}>)", "![x](<{}>)", "[x]\n\n[x]: <{}>"])
def test_a_dangerous_address_becomes_no_link_or_image(address: str, written: str) -> None:
    made = render_markdown(written.format(address))
    assert "href" not in made
    assert "src" not in made


def test_bare_addresses_are_words_and_bracketed_ones_are_links() -> None:
    assert "<a" not in render_markdown("https://example.org")
    assert '<a href="https://example.org">https://example.org</a>' in render_markdown(
        "<https://example.org>"
    )


TABLE = """\
| Year | Seen | Birds |
|:-----|:----:|------:|
| 2026 | *3 August* | 14 |
"""


def test_table_headers_get_a_scope_and_numbers_a_class() -> None:
    assert one_line(TABLE) == (
        '<table><thead><tr><th scope="col">Year</th>'
        '<th scope="col" style="text-align:center">Seen</th>'
        '<th scope="col" class="num">Birds</th></tr></thead>'
        "<tbody><tr><td>2026</td>"
        '<td style="text-align:center"><em>3 August</em></td>'
        '<td class="num">14</td></tr></tbody></table>'
    )
    shown = sanitise_html(render_markdown(f"{TABLE}\n~~a~~ `b`\n\n1. c\n\n---\n\n> d"))
    classes = ('scope="col"', 'class="num"')
    for kept in (*classes, "<thead>", "<s>", "<code>", "<ol>", "<hr>", "<blockquote>"):
        assert kept in shown
    assert "style=" not in shown
