"""The HTML of a sign-up form for a page on another site."""

from html import escape

from django.urls import reverse

from delivery.reader_fields import READER_FIELDS


def embed_form_html(site_url: str) -> str:
    """A form without scripts and style; its controls are those that `prefilled_form` reads."""
    url = escape(site_url.rstrip("/") + reverse("subscribers:embedded"))
    fields = "".join(
        f'  <label>{field.label} <input name="{field.name}" autocomplete="{field.autocomplete}">'
        "</label>\n"
        for field in READER_FIELDS
    )
    return f"""\
<form action="{url}" method="post">
  <label>Email address <input name="email" type="email" autocomplete="email" required></label>
{fields}  <button>Subscribe</button>
</form>"""
