"""The form of a test letter: the fields of either form, and an address."""

from typing import Any

from django import forms

from publishing.content.draft_content import HTML, MARKDOWN, build_content
from publishing.content.edition_content import Content, find_problems
from publishing.drafts.draft_form import is_html_form, parse_draft_content, too_long
from subscribers.address import read_address
from subscribers.refusal import InputRefusal, sentence_of

EMAIL = "test_email"
# These make two test letters the same.
FIELDS = ("title", "preheader", "format", "letter", "html_content", "text_content", EMAIL)


class SendTestForm(forms.Form):
    """The posted words and address; a valid form has `content` and `to`."""

    title = forms.CharField(required=False, strip=False, label="Title and subject")
    preheader = forms.CharField(required=False, strip=False, label="Preview text")
    format = forms.CharField(required=False, label="Format")
    letter = forms.CharField(required=False, strip=False, label="Letter")
    html_content = forms.CharField(required=False, strip=False, label="HTML")
    text_content = forms.CharField(required=False, strip=False, label="Plain text")
    test_email = forms.CharField(required=False, label="Address for the test")

    content: Content
    to: str = ""

    def clean(self) -> dict[str, Any]:
        from_html_form = is_html_form(self.data)
        letter = "html_content" if from_html_form else "letter"
        kind = self.data.get("format")
        if not from_html_form and kind not in (None, "", MARKDOWN, HTML):
            self.add_error("format", f"{kind[:40]!r} is no format; choose Markdown or HTML.")
        written = parse_draft_content(self.data)
        names = {"letter": letter, "text": "text_content"}
        for part, sentence in too_long(written).items():
            self.add_error(names.get(part, part), sentence)
        if too_long(written):
            # Rendering it would take minutes.
            return self.cleaned_data
        self.content = build_content(written)
        for flaw in find_problems(self.content):
            name = letter if flaw.field == "html_content" else flaw.field
            if name not in self.errors or name in self.cleaned_data:
                self.add_error(name, flaw.sentence)
        address = read_address(self.data.get(EMAIL, ""))
        if isinstance(address, InputRefusal):
            self.add_error(EMAIL, f"The test cannot go there: {sentence_of(address)}")
        else:
            self.to = address
        return self.cleaned_data
