"""The form of a test letter: the fields of either form, and an address."""

from typing import Any

from django import forms

from publishing.content.draft_content import HTML, MARKDOWN, DraftContent, build_content, longest
from publishing.content.edition_content import Content, find_problems
from publishing.drafts.draft_form import is_html_form
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
        posted = {name: self.data.get(name, "") for name in FIELDS}
        from_html_form = is_html_form(self.data)
        kind = HTML if from_html_form else posted["format"] or MARKDOWN
        if kind not in (MARKDOWN, HTML):
            self.add_error("format", f"{kind[:40]!r} is no format; choose Markdown or HTML.")
            kind = HTML
        too_long = [name for name, words in posted.items() if len(words) > longest(name, kind)]
        for name in too_long:
            self.add_error(
                name,
                f"This part has {len(posted[name]):,} characters; "
                f"at most {longest(name, kind):,} are possible.",
            )
        if too_long:
            # Rendering it would take minutes.
            return self.cleaned_data
        letter = posted["html_content" if from_html_form else "letter"]
        written = DraftContent(
            posted["title"], posted["preheader"], kind, letter, posted["text_content"]
        )
        self.content = build_content(written)
        for flaw in find_problems(self.content):
            of_the_letter = flaw.field == "html_content" and not from_html_form
            name = "letter" if of_the_letter else flaw.field
            if name not in self.errors or name in self.cleaned_data:
                self.add_error(name, flaw.sentence)
        address = read_address(posted[EMAIL])
        if isinstance(address, InputRefusal):
            self.add_error(EMAIL, f"The test cannot go there: {sentence_of(address)}")
        else:
            self.to = address
        return self.cleaned_data
