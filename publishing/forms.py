"""The publishing form: what an author may post, and what is wrong with it, in words."""

from __future__ import annotations

from typing import Any

from django import forms

from publishing.content import Content, flaws_of


class PublishForm(forms.Form):
    """Title, text and HTML of a new issue. Its `content` is canonical once it is valid."""

    title = forms.CharField(
        required=False,
        strip=False,
        label="Title and subject",
        widget=forms.TextInput(attrs={"class": "title-in"}),
        help_text="{{ name }} and {{ email }} may stand in it.",
    )
    html_content = forms.CharField(
        required=False,
        strip=False,
        label="HTML",
        widget=forms.Textarea(attrs={"class": "code", "spellcheck": "true"}),
        help_text="What most readers see. A fragment gets the letter’s frame; a whole document is "
        "kept as it is.",
    )
    text_content = forms.CharField(
        required=False,
        strip=False,
        label="Plain text",
        widget=forms.Textarea(attrs={"spellcheck": "true"}),
        help_text="For readers whose mail shows no HTML, and for spam filters.",
    )

    content: Content

    def clean(self) -> dict[str, Any]:
        """Every flaw stands at its field; none of the author's words is changed or lost."""
        self.content = Content.written(
            self.cleaned_data.get("title", ""),
            self.cleaned_data.get("html_content", ""),
            self.cleaned_data.get("text_content", ""),
        )
        for flaw in flaws_of(self.content):
            if flaw.field not in self.errors or flaw.field in self.cleaned_data:
                self.add_error(flaw.field, flaw.sentence)
        return self.cleaned_data
