"""The forms of fields and tags, and why a field or tag is not added or deleted."""

import re
from typing import TYPE_CHECKING, Any

from django import forms
from django.db import IntegrityError, transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.control_characters import CONTROL_CHARACTERS, clean_name
from delivery.humanise import digits
from subscribers.field_and_tag_settings.change_fields_and_tags import TagInUseError
from subscribers.fields.own_fields import RESERVED_KEYS
from subscribers.models import DeletedFieldOrTag, ReaderFieldDefinition, Tag
from subscribers.models.fields_and_tags import LONGEST_KEY, MOST_FIELDS

if TYPE_CHECKING:
    _ModelForm = forms.ModelForm[Any]
else:
    _ModelForm = forms.ModelForm

# A fallback must not contain these characters, because the fallback is written into merge fields,
# as in {{ city|your town }}.
_IN_MERGE_FIELDS = re.compile(r"[{}|]")


class _OneLineForm(_ModelForm):
    """A form that refuses control characters and reduces repeated spaces to one."""

    def __init__(self, data: Any = None, instance: Any = None) -> None:
        super().__init__(data, auto_id="%s", instance=instance)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        for name, text in list(cleaned.items()):
            if not isinstance(text, str):
                continue
            cleaned[name] = clean_name(text)
            if CONTROL_CHARACTERS.search(cleaned[name]):
                self.add_error(name, _("The text contains control characters. Remove them."))
        return cleaned

    def is_saved(self) -> bool:
        """Save a valid form. If the name is now taken, add an error and return False."""
        try:
            with transaction.atomic():
                self.save()
        except IntegrityError:
            self.full_clean()
            if not self.errors:
                raise
        return not self.errors


class FieldForm(_OneLineForm):
    """The form of an author's own field, whose key cannot be changed later."""

    class Meta:
        model = ReaderFieldDefinition
        fields = ("label", "key", "fallback", "on_form")
        labels = {
            "label": gettext_lazy("Label"),
            "key": gettext_lazy("Merge field"),
            "fallback": gettext_lazy("Fallback"),
            "on_form": gettext_lazy("Ask new readers for it when they confirm"),
        }
        help_texts = {
            "label": gettext_lazy("What readers see beside the field, such as City."),
            "key": gettext_lazy(
                "The word for this field in letters, such as city in {{ city }}. If you leave it "
                "empty, Homing makes the word from the label. You cannot change the word later."
            ),
            "fallback": gettext_lazy(
                "What readers without a value see, such as “your town”. A letter can have another"
                " fallback: {{ city|your town }}."
            ),
        }

    def __init__(self, data: Any = None, instance: Any = None) -> None:
        super().__init__(data, instance)
        self.fields["key"].required = False
        if self.instance.key:
            del self.fields["key"]

    def clean_key(self) -> str:
        label = str(self.data.get("label", ""))
        typed = str(self.cleaned_data["key"]).strip().lower()
        key = typed or slugify(label).replace("-", "_")[:LONGEST_KEY]
        if not re.fullmatch("[a-z][a-z0-9_]*", key):
            raise forms.ValidationError(
                _(
                    "“{key}” cannot be a merge field. Begin with a letter, and use only a to z, 0 "
                    "to 9 and _."
                ).format(key=key)
            )
        if key in RESERVED_KEYS:
            raise forms.ValidationError(
                _("Homing uses “{key}” already. Choose another word.").format(key=key)
            )
        if ReaderFieldDefinition.objects.filter(key=key).exists():
            raise forms.ValidationError(_("There is a field “{key}” already.").format(key=key))
        if DeletedFieldOrTag.objects.filter(kind=DeletedFieldOrTag.Kind.FIELD, key=key).exists():
            raise forms.ValidationError(
                _(
                    "The values of a deleted field “{key}” are still being removed. Try again "
                    "later."
                ).format(key=key)
            )
        return key

    def clean_fallback(self) -> str:
        fallback = str(self.cleaned_data["fallback"])
        if _IN_MERGE_FIELDS.search(fallback):
            raise forms.ValidationError(_("A fallback cannot contain {, } or |. Remove them."))
        return fallback


class TagForm(_OneLineForm):
    """The form of a tag, which is a topic if readers can see and choose it."""

    class Meta:
        model = Tag
        fields = ("name", "is_topic", "description")
        labels = {
            "name": gettext_lazy("Name"),
            "is_topic": gettext_lazy("Topic: readers see it and can choose it"),
            "description": gettext_lazy("Description for readers"),
        }
        help_texts = {
            "description": gettext_lazy("Shown next to a topic. Readers never see other tags."),
        }

    def clean_name(self) -> str:
        name = clean_name(str(self.cleaned_data["name"]))
        if Tag.objects.filter(name__iexact=name).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(_("There is a tag “{name}” already.").format(name=name))
        return name


def limit_sentence() -> str:
    """Say that no field can be added, because there are as many as allowed."""
    limit = _("There are {n} fields, which is the limit. Delete one first.")
    return limit.format(n=digits(MOST_FIELDS))


def in_use_sentence(used: TagInUseError) -> str:
    """Say which draft or issue uses the tag."""
    if used.is_draft:
        sentence = _(
            "The tag was not deleted, because the draft “{title}” uses it. Choose other readers "
            "for the draft first."
        )
    else:
        sentence = _(
            "The tag was not deleted, because the scheduled issue “{title}” uses it. Call that "
            "issue back first."
        )
    return sentence.format(title=used.args[0])
