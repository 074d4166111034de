"""The form of a test letter: the words of the plain form or of the composer, and an address."""

from __future__ import annotations

from typing import Any

from django import forms

from publishing.content import Content, flaws_of
from publishing.written import HTML, MARKDOWN, Written, content_of, finished, longest
from subscribers.address import Refusal, read_address

EMAIL = "test_email"
# All that makes two test letters the same.
FIELDS = ("title", "preheader", "format", "letter", "html_content", "text_content", EMAIL)


class MarkedLetterForm(forms.Form):
    """
    Words as either form of the desk posts them; once it is valid, `content` and `to` stand.

    Where `letter` or `format` is posted it is the composer's; else the plain form's.
    """

    title = forms.CharField(required=False, strip=False, label="Title and subject")
    preheader = forms.CharField(required=False, strip=False, label="Preheader")
    format = forms.CharField(required=False, label="Format")
    letter = forms.CharField(required=False, strip=False, label="Letter")
    html_content = forms.CharField(required=False, strip=False, label="HTML")
    text_content = forms.CharField(required=False, strip=False, label="Plain text")
    test_email = forms.CharField(required=False, label="Address for the test")

    content: Content
    to: str = ""

    @property
    def is_composers(self) -> bool:
        """Whether the composer posted it, and not the plain form."""
        return "letter" in self.data or "format" in self.data

    def clean(self) -> dict[str, Any]:
        """Every flaw stands at its field, in the words of the publishing form."""
        said = {name: self.data.get(name, "") for name in FIELDS}
        kind = said["format"] or MARKDOWN if self.is_composers else HTML
        if kind not in (MARKDOWN, HTML):
            self.add_error("format", f"{kind[:40]!r} is no format; choose Markdown or HTML.")
            kind = HTML
        too_long = [name for name, words in said.items() if len(words) > longest(name, kind)]
        for name in too_long:
            self.add_error(
                name,
                f"This part has {len(said[name]):,} characters; "
                f"at most {longest(name, kind):,} are possible.",
            )
        if too_long:
            # Rendering it would take minutes, and no such letter can be published.
            return self.cleaned_data
        letter = said["letter"] if self.is_composers else said["html_content"]
        written = Written(said["title"], said["preheader"], kind, letter, said["text_content"])
        self.content = content_of(written) if self.is_composers else finished(written)
        for flaw in flaws_of(self.content):
            composed = self.is_composers and flaw.field == "html_content"
            name = "letter" if composed else flaw.field
            if name not in self.errors or name in self.cleaned_data:
                self.add_error(name, flaw.sentence)
        address = read_address(said[EMAIL])
        if isinstance(address, Refusal):
            self.add_error(EMAIL, f"The test cannot go there: {address.reason}")
        else:
            self.to = address.email
        return self.cleaned_data
