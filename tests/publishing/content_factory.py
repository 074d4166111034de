"""Letters to publish; a test names what matters."""

from publishing.content.edition_content import Content


def letter(
    title: str = "Swifts leave without saying goodbye",
    html: str = "<p>Dear {{ name|reader }}, they have gone.</p>",
    text: str = "Dear {{ name|reader }}, they have gone.",
) -> Content:
    """Build the content of a letter."""
    return Content.from_input(title=title, html=html, text=text)
