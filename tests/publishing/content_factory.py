"""Make letters to publish. A test gives only the values that matter to it."""

from publishing.content.edition_content import Content


def letter(
    title: str = "Swifts leave without saying goodbye",
    html: str = "<p>Dear {{ name|reader }}, they have gone.</p>",
    text: str = "Dear {{ name|reader }}, they have gone.",
) -> Content:
    """Build the content of a letter, with defaults for the values not given."""
    return Content.from_input(title=title, html=html, text=text)
