"""The form for finished HTML: what may be posted, and what is wrong with it."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms
from django.forms.boundfield import BoundField

from delivery.mail.merge_fields import TITLE_FIELDS_SHOWN
from delivery.rules.edition_counts import AUDIENCE_WORDS
from publishing.content.edition_content import Content, find_problems
from publishing.drafts.unsent_forms import WORDS
from publishing.editions.listing import parse_unlisted
from publishing.editions.parse_edition_name import parse_issue_id, parse_version
from publishing.editions.versions import EVERYONE, NOBODY, version_refusal


class PublishForm(forms.Form):
    """
    Title, preheader, text and HTML of a new issue, or of the next version of one.

    Once it is valid its `content` is canonical, and `named_issue`, `named_version` and `whom` say
    as what it is published: None, None and everyone where it is a new issue. `to_be_unlisted` says
    whether the issue is kept out of the archive's lists.
    """

    title = forms.CharField(
        required=False,
        strip=False,
        label="Title and subject",
        widget=forms.TextInput(attrs={"class": "title-in"}),
        help_text=f"You can use {TITLE_FIELDS_SHOWN}.",
    )
    preheader = forms.CharField(
        required=False,
        strip=False,
        label="Preheader",
        help_text="What an inbox shows beside the subject; empty: the letter’s first words.",
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
        help_text="For readers whose mail shows no HTML, and for spam filters. Left empty, it is "
        "made from the HTML.",
    )

    issue = forms.CharField(required=False, widget=forms.HiddenInput)
    version = forms.CharField(required=False, widget=forms.HiddenInput)
    goes_to = forms.CharField(required=False, widget=forms.HiddenInput)
    unlisted = forms.CharField(required=False, widget=forms.HiddenInput)

    content: Content
    named_issue: uuid.UUID | None = None
    named_version: int | None = None
    whom: str | None = EVERYONE
    to_be_unlisted: bool = False

    def words(self) -> list[BoundField]:
        """The fields that an author writes in."""
        return [self[name] for name in WORDS]

    def clean(self) -> dict[str, Any]:
        """Every flaw stands at its field; none of the author's words is changed or lost."""
        self.content = Content.written(
            self.cleaned_data.get("title", ""),
            self.cleaned_data.get("html_content", ""),
            self.cleaned_data.get("text_content", ""),
            self.cleaned_data.get("preheader", ""),
        )
        for flaw in find_problems(self.content):
            if flaw.field not in self.errors or flaw.field in self.cleaned_data:
                self.add_error(flaw.field, flaw.sentence)
        for read in (self._read_place, self._read_listing):
            try:
                read()
            except ValueError as error:
                self.add_error(None, str(error))
        return self.cleaned_data

    @property
    def unlisted_is_ticked(self) -> bool:
        """Whether the box is ticked when the form is shown."""
        try:
            return parse_unlisted(str(self["unlisted"].value() or ""))
        except ValueError:
            return True  # whatever was meant, it was not said to be for everybody

    def _read_listing(self) -> None:
        self.to_be_unlisted = parse_unlisted(self.cleaned_data.get("unlisted", ""))

    def _read_place(self) -> None:
        """Read which version of which issue it is. Raises `ValueError` with one sentence."""
        named = self.cleaned_data.get("issue", "")
        if not named:
            # A new issue, whatever else is said.
            self.whom = NOBODY if self.cleaned_data.get("goes_to") == NOBODY else EVERYONE
            return
        self.named_issue = parse_issue_id(named)
        self.named_version = parse_version(self.cleaned_data.get("version") or None)
        self.whom = self.cleaned_data.get("goes_to") or None
        if self.whom and self.whom not in AUDIENCE_WORDS:
            raise ValueError(f"{self.whom[:40]!r} is not whom a version goes to; choose one below.")
        refusal = version_refusal(self.named_issue, self.named_version, self.whom)
        if refusal:
            raise ValueError(refusal)
