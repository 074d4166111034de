"""The text field for a time zone, which suggests zones while an author types."""

from functools import cache
from typing import Any

from django import forms
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from publishing.scheduling.find_zone import zones_of_places


class ZoneInput(forms.TextInput):
    """A text field with a list of all zones. `find_zone` reads what the author typed."""

    def __init__(self) -> None:
        super().__init__(
            {
                "list": "zones",
                "autocomplete": "off",
                "autocapitalize": "none",
                "spellcheck": "false",
            }
        )

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        """Return the field and its list of suggestions."""
        return format_html("{}{}", super().render(name, value, attrs, renderer), _suggestions())


@cache
def _suggestions() -> SafeString:
    # Browsers also search the labels, so “new york” finds America/New_York.
    options = ((zone, zone.rpartition("/")[2].replace("_", " ")) for zone in zones_of_places())
    return format_html(
        '<datalist id="zones">{}</datalist>',
        format_html_join("", '<option value="{}" label="{}"></option>', options),
    )
