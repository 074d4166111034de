"""The sign-up form.

Two traps catch programs: a hidden field, and the signed time at which the form was shown.
"""

from collections.abc import Iterable, Sequence
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


class SignUpForm(forms.Form):
    """The address and the reader's fields, as a visitor typed them."""

    email = AddressField(label=gettext_lazy("Email address"))

    def __init__(self, data: Any = None, **options: Any) -> None:
        super().__init__(data, auto_id="%s", **options)
        self._reader_fields = form_fields()
        for field in self._reader_fields:
            self.fields[field.control] = ReaderValueField(field)

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
    def values(self) -> dict[str, str]:
        return {field.name: self.cleaned_data[field.control] for field in self._reader_fields}

    def is_too_fast(self, now: float) -> bool:
        """Tell whether the form was sent too soon for a human, or its time is forged."""
        if "shown" not in self.data:
            return False
        try:
            return now - float(_SIGNER.unsign(self.data["shown"])) < settings.SIGN_UP_LEAST_S
        except signing.BadSignature:
            return True


def form_fields() -> tuple[ReaderField, ...]:
    """Load the fields of the form: the name, and the author's own fields on the form."""
    return (*READER_FIELDS, *load_own_fields(on_form=True))


def prefilled_form(data: Any) -> SignUpForm:
    """Make our form with the values of a form on another site, without validation."""
    typed = {name: shown_again(text) for name, text in data.items()}
    return SignUpForm(initial={**typed, "how": How.EMBEDDED_FORM})


def embed_form_html(
    site_url: str, newsletter_name: str, fields: Sequence[ReaderField], tags: Iterable[int] = ()
) -> str:
    """Write the HTML of a form without scripts and styles, in the active language.

    The form has the wording that will be stored with the consent, both as visible text and as a
    signed value.
    """
    words, button = consent_wording.SIGN_UP, consent_wording.SIGN_UP_BUTTON
    wording = consent_wording.full_wording(newsletter_name, words, button)
    context = {
        "url": site_url.rstrip("/") + reverse("subscribers:embedded"),
        "fields": fields,
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
