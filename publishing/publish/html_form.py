"""The form for finished HTML: its fields and their errors."""

import uuid
from typing import TYPE_CHECKING, Any

from django import forms
from django.forms.boundfield import BoundField
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.issue_attributes import CONTENT_ATTRIBUTES
from delivery.mail.merge_fields import TITLE_FIELDS_SHOWN
from delivery.reports.edition_words import AUDIENCE_WORDS
from publishing.content.edition_content import Content, find_problems
from publishing.editions.audience import EVERYONE, NOBODY
from publishing.editions.edition_name import parse_issue_id, parse_version
from publishing.editions.listing import parse_archive
from publishing.editions.posted_tags import TAG_FIELDS, choice_of, posted_ids, read_ids
from publishing.editions.tag_sentences import DELETED_TAG
from publishing.editions.versions import version_refusal
from publishing.models import Visibility
from publishing.publish.publish import PublishRequest
from subscribers.fields.own_fields import load_own_fields

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

WRITTEN_FIELDS = ("title", "preheader", "html_content", "text_content")
# Posts with the same values of these fields are repetitions.
FIELDS = (*WRITTEN_FIELDS, "issue", "version", "goes_to", "unlisted", *TAG_FIELDS)


def _text(label: "_StrPromise", help_text: "_StrPromise", widget: forms.Widget) -> forms.CharField:
    return forms.CharField(
        required=False, strip=False, label=label, help_text=help_text, widget=widget
    )


class _HiddenField(forms.CharField):
    """A field whose own errors the page does not show. `clean` checks its value."""

    def to_python(self, value: Any) -> str:
        # Django refuses a NUL. With this sign, the value is refused with the others.
        return str(super().to_python(value)).replace("\0", "\ufffd")


def _hidden(widget: type[forms.HiddenInput] = forms.HiddenInput) -> forms.CharField:
    return _HiddenField(required=False, widget=widget)


class _Tags(forms.HiddenInput):
    """The ticked tags as one text."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> str | None:
        return posted_ids(data, name) if name in data else None


class HtmlForm(forms.Form):
    """
    An issue in finished HTML, or its next version.

    A valid form has the `publish_request`.
    """

    title = _text(
        gettext_lazy("Title and subject"),
        format_lazy(gettext_lazy("You can use: {fields}."), fields=TITLE_FIELDS_SHOWN),
        forms.TextInput(attrs={"class": "title-in"}),
    )
    preheader = _text(
        gettext_lazy("Preview text"),
        gettext_lazy(
            "Inboxes show it beside the subject. If you leave it empty, they show the letter’s "
            "first words."
        ),
        forms.TextInput(),
    )
    html_content = _text(
        gettext_lazy("HTML"),
        gettext_lazy(
            "Most readers see this part. Homing puts a fragment into the newsletter’s design, and "
            "sends a complete document unchanged."
        ),
        forms.Textarea(attrs={"class": "code", "spellcheck": "true"}),
    )
    text_content = _text(
        gettext_lazy("Plain text"),
        gettext_lazy(
            "For readers whose mail program shows no HTML, and for spam filters. If you leave it "
            "empty, Homing makes it from the HTML."
        ),
        forms.Textarea(attrs={"spellcheck": "true"}),
    )
    issue = _hidden()
    version = _hidden()
    goes_to = _hidden()
    unlisted = _hidden()
    with_tags = _hidden(_Tags)
    without_tags = _hidden(_Tags)

    publish_request: PublishRequest

    def words(self) -> list[BoundField]:
        """Return the fields that an author writes."""
        return [self[name] for name in WRITTEN_FIELDS]

    def clean(self) -> dict[str, Any]:
        posted = {name: self.cleaned_data.get(name, "") for name in FIELDS}
        content = Content.from_input(
            **{one.content: posted[one.column] for one in CONTENT_ATTRIBUTES}
        )
        for problem in find_problems(content, load_own_fields()):
            if problem.attribute.column not in self.errors:
                self.add_error(problem.attribute.column, problem.sentence)
        issue: uuid.UUID | None = None
        version: int | None = None
        goes_to: str | None = EVERYONE.value
        archive = ""
        try:
            chosen = _parse_goes_to(posted["goes_to"])
            if posted["issue"]:
                issue = parse_issue_id(posted["issue"])
                version = parse_version(posted["version"] or None)
                goes_to = chosen
                refusal = version_refusal(issue, version, goes_to)
                if refusal:
                    self.add_error(None, refusal)
            elif chosen == NOBODY:
                goes_to = NOBODY.value
        except ValueError as error:
            self.add_error(None, str(error))
        try:
            archive = parse_archive(posted["unlisted"])
        except ValueError as error:
            self.add_error(None, str(error))
        tags = None
        if any(name in self.data for name in TAG_FIELDS):
            tags = choice_of(*self.tag_ids)
            if not all(map(_are_ids, (posted[name] for name in TAG_FIELDS))):
                # Without the tag the letter would go to more readers.
                self.add_error(None, str(DELETED_TAG))
        self.publish_request = PublishRequest(
            content=content,
            issue=issue,
            version=version,
            goes_to=goes_to,
            archive=archive,
            tags=tags,
        )
        return self.cleaned_data

    @property
    def tag_ids(self) -> list[tuple[int, ...]]:
        """The tags in each field of `TAG_FIELDS`."""
        return [read_ids(str(self[name].value() or "")) for name in TAG_FIELDS]

    @property
    def archive(self) -> str:
        """The choice that the form shows."""
        try:
            return parse_archive(str(self["unlisted"].value() or ""))
        except ValueError:
            return Visibility.UNLISTED  # an unreadable value must not make the issue public


def _are_ids(text: str) -> bool:
    return len(read_ids(text)) == len(set(filter(None, text.split(","))))


def _parse_goes_to(text: str) -> str | None:
    if text and text not in AUDIENCE_WORDS:
        raise ValueError(
            _("“{choice}” is not a choice of readers. Choose one below.").format(choice=text[:40])
        )
    return text or None
