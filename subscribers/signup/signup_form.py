"""The sign-up form.

Two traps catch programs: a hidden field, and the signed time at which the form was shown.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.core import signing
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext_lazy

from delivery.reader_fields import READER_FIELDS, ReaderField
from subscribers.address import read_address
from subscribers.consent import consent_wording
from subscribers.fields.own_fields import load_own_fields
from subscribers.fields.reader_values import read_value, shown_again
from subscribers.models.consent_record import OF_FORMS, How
from subscribers.refusal_sentences import InputRefusal, sentence_of

TAGS = "tags"  # the hidden control of tags, and the parameter of a link
TRAP = "reply"  # only programs fill it in
EXAMPLE = gettext_lazy("Enter an address such as ada@example.org.")
_TAGS_SIGNER = signing.Signer(salt="the tags of a sign-up form")
_SIGNER = signing.Signer(salt="the moment at which a sign-up form was shown")


class _TextField(forms.Field):
    def bound_data(self, data: Any, initial: Any) -> str:
        """Return the typed text as a refused form shows it again."""
        return shown_again(data or "")


class AddressField(_TextField):
    """The field of an address, which `read_address` checks."""

    widget = forms.EmailInput(
        attrs={
            "autocomplete": "email",
            "autocapitalize": "none",
            "spellcheck": "false",
            "maxlength": "320",
        }
    )

    def clean(self, value: Any) -> str:
        if not (value or self.required):
            return ""
        address = read_address(value or "")
        if isinstance(address, InputRefusal):
            raise forms.ValidationError(f"{sentence_of(address)} {EXAMPLE}")
        return address


class ReaderValueField(_TextField):
    """The value of one of the reader's fields."""

    def __init__(self, field: ReaderField, autocomplete: str = "") -> None:
        attrs = {
            "autocomplete": autocomplete or field.autocomplete,
            "maxlength": str(field.longest),
        }
        super().__init__(required=False, label=field.label, widget=forms.TextInput(attrs))
        self.reader_field = field

    def clean(self, value: Any) -> str:
        found = read_value(self.reader_field, value or "")
        if isinstance(found, InputRefusal):
            raise forms.ValidationError(sentence_of(found))
        return found


class ReaderFieldsForm(forms.Form):
    """The name, and the author's own fields that new readers are asked for."""

    def __init__(self, data: Any = None, **options: Any) -> None:
        super().__init__(data, auto_id="%s", **options)
        self.reader_fields = (*READER_FIELDS, *load_own_fields(on_form=True))
        for field in self.reader_fields:
            self.fields[field.control] = ReaderValueField(field)

    @property
    def values(self) -> dict[str, str]:
        """The posted values, by the name of the field; call it for a valid form."""
        return {
            field.name: self.cleaned_data[field.control]
            for field in self.reader_fields
            if field.control in self.data
        }


class SignUpForm(ReaderFieldsForm):
    """The address, the only field that our form shows.

    The page with the button to confirm asks for the reader's fields. But forms on other sites, and
    programs, may post fields together with the address.
    """

    email = AddressField(label=gettext_lazy("Email address"))

    @property
    def how(self) -> How:
        how = (self.data or self.initial).get("how")
        return How(how) if how in OF_FORMS else How.FORM

    @property
    def tags(self) -> list[int]:
        return read_tags((self.data or self.initial).get(TAGS, ""))

    @property
    def signed_tags(self) -> str:
        return sign_tags(self.tags)

    @property
    def is_trapped(self) -> bool:
        return bool(self.data.get(TRAP))

    @property
    def refused(self) -> list[forms.BoundField]:
        """The posted fields with errors, which the page shows."""
        return [control for control in self._reader_controls if control.errors]

    @property
    def carried(self) -> list[forms.BoundField]:
        """The posted fields without errors, which the page contains as hidden controls."""
        return [one for one in self._reader_controls if one.value() and not one.errors]

    @property
    def _reader_controls(self) -> list[forms.BoundField]:
        return [self[field.control] for field in self.reader_fields]

    def is_too_fast(self, now: float) -> bool:
        """Tell whether the form was sent too soon for a human, or its time is forged."""
        if "shown" not in self.data:
            return False
        try:
            return now - float(_SIGNER.unsign(self.data["shown"])) < settings.SIGN_UP_LEAST_S
        except signing.BadSignature:
            return True


def confirm_form(values: Mapping[str, str]) -> ReaderFieldsForm:
    """Make the form of the page that confirms, with the known values by field name."""
    form = ReaderFieldsForm()
    form.initial = {field.control: values.get(field.name, "") for field in form.reader_fields}
    return form


def prefilled_form(data: Any) -> SignUpForm:
    """Make our form with the values of a form on another site, without validation."""
    typed = {name: shown_again(text) for name, text in data.items()}
    return SignUpForm(initial={**typed, "how": How.EMBEDDED_FORM})


def embed_form_html(site_url: str, newsletter_name: str, tags: Iterable[int] = ()) -> str:
    """Write the HTML of a form without scripts and styles, in the active language.

    The form has the wording that will be stored with the consent, both as visible text and as a
    signed value.
    """
    words, button = consent_wording.SIGN_UP, consent_wording.SIGN_UP_BUTTON
    wording = consent_wording.full_wording(newsletter_name, words, button)
    context = {
        "url": site_url.rstrip("/") + reverse("subscribers:embedded"),
        "hidden": {
            TAGS: sign_tags(tags),
            consent_wording.SIGNED: consent_wording.sign_wording(wording),
        },
        "trap": TRAP,
        "name": newsletter_name,
        "words": words,
        "button": button,
    }
    return render_to_string("subscribers/form_elsewhere.html", context).strip()


def sign_time(now: float) -> str:
    """Sign the time at which a form is shown, so that nobody can forge it."""
    return _SIGNER.sign(f"{now:.3f}")


def sign_tags(tags: Iterable[int]) -> str:
    """Sign the ids of tags, so that visitors cannot add others; empty without tags.

    The signed value never expires, because a form on another site may contain it for years.
    """
    ids = "-".join(map(str, sorted(set(tags))))
    return _TAGS_SIGNER.sign(ids) if ids else ""


def read_tags(signed: str) -> list[int]:
    """Return the ids of tags in a signed value; no ids if the signature is not ours."""
    try:
        return [int(tag) for tag in _TAGS_SIGNER.unsign(signed).split("-")]
    except signing.BadSignature:
        return []
