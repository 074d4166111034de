"""The forms that add and edit a reader on the desk."""

from typing import Any

from django import forms
from django.db.models.functions import Lower
from django.utils.translation import gettext, gettext_lazy

from subscribers.desk.add_or_edit_reader import last_edit
from subscribers.fields.own_fields import load_fields
from subscribers.models import Subscriber, Tag
from subscribers.models.reader_change import LONGEST_REASON
from subscribers.models.subscriber_import import LONGEST_STATEMENT
from subscribers.signup.signup_form import AddressField, ReaderValueField


class AddressForm(forms.Form):
    """The address of a reader."""

    email = AddressField(label=gettext_lazy("Email address"))

    def __init__(self, data: Any = None, **options: Any) -> None:
        super().__init__(data, **{"auto_id": "%s", **options})
        # The author types a reader's address, so the browser must not offer the author's own
        # address.
        self.fields["email"].widget.attrs["autocomplete"] = "off"


class ReasonForm(forms.Form):
    """The form in which an author gives a reason for an action.

    The reason is recorded.
    """

    reason = forms.CharField(
        max_length=LONGEST_REASON,
        label=gettext_lazy("Reason"),
        error_messages={"required": gettext_lazy("State the reason. Homing records it.")},
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="%s")

    def clean_reason(self) -> str:
        return " ".join(self.cleaned_data["reason"].split())


class EditForm(forms.Form):
    """The fields and tags of a reader, without the topics that the reader left."""

    # The time of the reader's last edit before the form was shown. The form does not overwrite a
    # later edit.
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: Any = None, reader: Subscriber | None = None, **options: Any) -> None:
        self.reader_fields = load_fields()
        if reader is not None:
            values = reader.values_of_fields
            options["initial"] = {
                "tags": reader.tags,
                "seen": last_edit(reader),
                **{field.control: values.get(field.name, "") for field in self.reader_fields},
            }
        super().__init__(data, auto_id="%s", **options)
        for field in self.reader_fields:
            # The author types a reader's values, so the browser must not offer the author's own
            # values.
            self.fields[field.control] = ReaderValueField(field, autocomplete="off")
        tags = list(Tag.objects.order_by(Lower("name")))
        left = set(reader.left_topics if reader else ())
        self.left_topics = [tag for tag in tags if tag.pk in left]
        self.fields["tags"] = forms.TypedMultipleChoiceField(
            choices=[(tag.pk, tag.name) for tag in tags],
            coerce=int,
            required=False,
            label=gettext_lazy("Tags"),
            widget=forms.CheckboxSelectMultiple,
        )
        # The form hides the topics that the reader left. But the form accepts the ids of these
        # topics, because the reader may have left a topic while the form was open.
        shown_tags = [(tag.pk, tag.name) for tag in tags if tag.pk not in left]
        self.fields["tags"].widget.choices = shown_tags

    @property
    def values(self) -> dict[str, str]:
        return {field.name: self.cleaned_data[field.control] for field in self.reader_fields}

    @property
    def tags(self) -> list[int]:
        return list(self.cleaned_data["tags"])

    @property
    def texts(self) -> list[forms.BoundField]:
        return [self[field.control] for field in self.reader_fields]


class AddForm(EditForm, AddressForm):
    """The form for a new reader, with the author's statement about their consent."""

    consent = forms.BooleanField(
        required=False, label=gettext_lazy("They gave their consent elsewhere")
    )
    where = forms.CharField(
        required=False,
        max_length=LONGEST_STATEMENT,
        label=gettext_lazy("How did they consent?"),
        widget=forms.TextInput,
    )

    field_order = ("email",)

    def clean_where(self) -> str:
        where = " ".join(self.cleaned_data["where"].split())
        if self.cleaned_data["consent"] and not where:
            raise forms.ValidationError(
                gettext("Enter how they consented. Homing records your answer.")
            )
        if where and not self.cleaned_data["consent"]:
            raise forms.ValidationError(
                gettext("Tick the box if this is how they consented. Otherwise delete this text.")
            )
        return where

    @property
    def texts(self) -> list[forms.BoundField]:
        return [self["email"], *super().texts]
