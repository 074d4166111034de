"""The form of a snippet."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from delivery.control_characters import clean_name
from publishing.content.edition_content import remove_invisible
from publishing.models import LONGEST_SNIPPET_NAME, Snippet
from publishing.snippets.snippets import LONGEST_TEXT


class _TextField(forms.CharField):
    def to_python(self, value: Any) -> str:
        """Count a line end as one character. The field refuses NUL later."""
        return remove_invisible(super().to_python(value) or "").strip()


class SnippetForm(forms.Form):
    """The name and the Markdown of a snippet."""

    name = _TextField(
        label=_("Name"),
        max_length=LONGEST_SNIPPET_NAME,
        help_text=_("Shown in the composer’s menu, such as “Signature”. Readers never see it."),
    )
    text = _TextField(
        label=_("Text"),
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 12, "dir": "auto"}),
        help_text=_("Markdown, as in a letter. Images and merge fields work too."),
    )

    def __init__(self, data: Any, snippet: Snippet) -> None:
        super().__init__(data, auto_id="%s", initial={"name": snippet.name, "text": snippet.text})

    def clean_name(self) -> str:
        return clean_name(self.cleaned_data["name"])
