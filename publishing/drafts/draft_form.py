"""The composer's form: the fields of a draft as the page posts them."""

import uuid
from itertools import chain
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.issue_attributes import (
    CONTENT_ATTRIBUTES,
    ISSUE_ATTRIBUTES,
    LETTER,
    LONGEST_PART,
    IssueAttribute,
)
from delivery.models import Edition
from publishing.content.draft_content import HTML, LONGEST_MARKDOWN, MARKDOWN, DraftFields
from publishing.content.edition_content import (
    Content,
    find_problems,
    remove_invisible,
    sentence_too_long,
)
from publishing.editions.archive_visibility import POSTED_AS
from publishing.editions.audience import (
    DELETED_TAG,
    EVERYONE,
    TAG_FIELDS,
    choice_of,
    choice_words,
    join_ids,
    read_ids,
)
from publishing.editions.versions import versions_of
from publishing.models import Draft, Visibility
from subscribers.fields.own_fields import load_own_fields

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

# A SHA-256 hash in a hidden field.
SHA256_HEX = "^[0-9a-f]{64}$"


class WordsField(forms.CharField):
    """A text as its author wrote it, but without characters that cannot be stored."""

    def __init__(self, label: "_StrPromise | str", **options: Any) -> None:
        super().__init__(required=False, strip=False, label=label, **options)

    def to_python(self, value: Any) -> str:
        return remove_invisible(str(super().to_python(value))).replace("\x00", "")


class _TickedTags(forms.HiddenInput):
    """Read ticked boxes as one text, such as “3,7”; None if the post lacks the field."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> str | None:
        return ",".join(filter(None, data.getlist(name))) if name in data else None


class TagsField(forms.Field):
    """The sorted ids of the ticked tags; None if the post lacks the field."""

    widget = _TickedTags

    def to_python(self, value: str | None) -> tuple[int, ...] | None:
        if value is None:
            return None
        ids = read_ids(value)
        if len(ids) != len(set(filter(None, value.split(",")))):
            # Refuse the post, because a tag was deleted. If the deleted tag were ignored, the
            # letter might go to more readers than its author chose.
            raise ValidationError(DELETED_TAG)
        return ids


class RevisionForm(forms.Form):
    """A form with the revision that its draft had when the form was opened."""

    revision = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput)

    @property
    def base_revision(self) -> int:
        """The posted revision, or 0 if none was posted; no draft has the revision 0."""
        return self.cleaned_data.get("revision") or 0


class DraftForm(RevisionForm):
    """The composer's form: one field for each of `ISSUE_ATTRIBUTES`.

    The name of each field is the `control` of its attribute.

    A Markdown letter is posted as `letter`. Finished HTML is posted as `html_content`, or as
    `letter` with `format`. `written` has all texts, also those of a refused form, so that no text
    is lost. If a field that is not a text was refused, `written` has the field's default.
    """

    format = forms.ChoiceField(
        choices=Draft.Format.choices, required=False, widget=forms.HiddenInput
    )
    html_content = WordsField(LETTER.label, widget=forms.Textarea(attrs={"id": "id_letter"}))
    goes_to = forms.ChoiceField(
        choices=Edition.GoesTo.choices, required=False, label=gettext_lazy("Who gets it")
    )
    unlisted = forms.TypedChoiceField(
        choices=[(posted, posted) for posted in POSTED_AS.values()],
        coerce={posted: archive for archive, posted in POSTED_AS.items()}.__getitem__,
        required=False,
        label=gettext_lazy("Archive"),
    )
    without_note = forms.BooleanField(required=False)
    with_tags = TagsField(required=False)
    without_tags = TagsField(required=False)
    issue = forms.UUIDField(required=False, widget=forms.HiddenInput)

    written: DraftFields

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        texts = {one.control: WordsField(one.label) for one in CONTENT_ATTRIBUTES}
        self.fields = {**texts, **self.fields}

    def control_of(self, attribute: IssueAttribute) -> str:
        """Return the name of the field that has the attribute's text."""
        is_html = attribute is LETTER and self[LETTER.control].data is None
        return attribute.column if is_html else attribute.control

    def add_problems(self, content: Content) -> None:
        """Add the problems of the content to the form, at most one for each field."""
        for problem in find_problems(content, load_own_fields()):
            name = self.control_of(problem.attribute)
            if name not in self.errors:
                self.add_error(name, problem.sentence)

    def clean(self) -> dict[str, Any]:
        found, letter = self.cleaned_data, self.control_of(LETTER)
        kind = found.get("format") or MARKDOWN
        tags: dict[str, Any] = {name: found.get(name) or () for name in TAG_FIELDS}
        self.written = DraftFields(
            **{one.name: found[self.control_of(one)] for one in CONTENT_ATTRIBUTES},
            format=kind if letter == LETTER.control else HTML,
            goes_to=found.get("goes_to") or EVERYONE.value,
            # If the posted choice is invalid, make the issue unlisted: this is safer than making it
            # public.
            archive=found.get("unlisted", Visibility.UNLISTED.value),
            without_note=found["without_note"],
            **tags,
        )
        for one in CONTENT_ATTRIBUTES:
            if sentence := too_long(self.written).get(one.name):
                self.add_error(self.control_of(one), sentence)
        return found

    @property
    def has_too_long_text(self) -> bool:
        """Whether a text is too long to be saved or rendered."""
        return bool(too_long(self.written))

    @property
    def published_issue(self) -> uuid.UUID | None:
        """The issue that the form names, if a version of it was published."""
        issue: uuid.UUID | None = self.cleaned_data.get("issue")
        return issue if issue and versions_of(issue).exists() else None


def first_error(form: forms.BaseForm) -> str:
    """Return the first error about the whole form, or else about one of its fields."""
    return str(next(chain(form.non_field_errors(), *form.errors.values())))


def form_values(fields: DraftFields) -> dict[str, str]:
    """Return the values in a dict, with the names of the composer's fields as keys."""
    tags = (join_ids(getattr(fields, name)) for name in TAG_FIELDS)
    archive, note = POSTED_AS[fields.archive], "on" if fields.without_note else ""
    values = {one.control: getattr(fields, one.name) for one in ISSUE_ATTRIBUTES}
    chosen = {"unlisted": archive, "without_note": note, **dict(zip(TAG_FIELDS, tags, strict=True))}
    return values | chosen


def fields_to_compare(fields: DraftFields) -> dict[str, str]:
    """Return what a page with two versions compares: a dict from label to value."""
    shown = {
        "format": "HTML" if fields.format == HTML else "Markdown",
        "text": fields.text or _("automatic"),
        "goes_to": choice_words(fields.goes_to, choice_of(fields.with_tags, fields.without_tags)),
        "archive": str(Visibility(fields.archive).label) if fields.archive else _("automatic"),
    }
    return {
        str(one.label): shown.get(one.name, getattr(fields, one.name))
        for one in ISSUE_ATTRIBUTES
        if one.label
    }


def too_long(fields: DraftFields) -> dict[str, str]:
    """Map the name of each text that is too long to a sentence about its length."""
    found = {}
    for one in CONTENT_ATTRIBUTES:
        text, most = getattr(fields, one.name), LONGEST_PART
        if (one, fields.format) == (LETTER, MARKDOWN):
            most = LONGEST_MARKDOWN
        if len(text) > most:
            found[one.name] = sentence_too_long(one.too_long, text, most)
    return found
