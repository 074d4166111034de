"""The sign-up form. A hidden field and the signed time at which it was shown catch programs."""

from html import escape
from typing import Any

from django import forms
from django.core import signing
from django.urls import reverse

from delivery.reader_fields import FIELD_NAMES, READER_FIELDS, ReaderField
from subscribers.address import read_address
from subscribers.models.consent_record import How
from subscribers.reader_values import read_value
from subscribers.refusal import InputRefusal, sentence_of

LONGEST_SHOWN = 1000  # characters of a control that are given back
TRAP = "reply"  # only a program fills it in
EXAMPLE = "An address such as ada@example.org is expected."
_SIGNER = signing.Signer(salt="the moment at which a sign-up form was shown")


class _TextField(forms.Field):
    def bound_data(self, data: Any, initial: Any) -> str:
        """What is shown again is cut, whatever was posted."""
        return (data or "")[:LONGEST_SHOWN]


class _AddressField(_TextField):
    widget = forms.EmailInput(
        attrs={
            "autocomplete": "email",
            "autocapitalize": "none",
            "spellcheck": "false",
            "maxlength": "320",
        }
    )

    def clean(self, value: Any) -> str:
        address = read_address(value or "")
        if isinstance(address, InputRefusal):
            raise forms.ValidationError(f"{sentence_of(address)} {EXAMPLE}")
        return address


class _ReaderValueField(_TextField):
    def __init__(self, field: ReaderField) -> None:
        attrs = {"autocomplete": field.autocomplete, "maxlength": str(field.longest)}
        super().__init__(required=False, label=field.label, widget=forms.TextInput({**attrs}))
        self.reader_field = field

    def clean(self, value: Any) -> str:
        found = read_value(self.reader_field, value or "")
        if isinstance(found, InputRefusal):
            raise forms.ValidationError(sentence_of(found))
        return found


class SignUpForm(forms.Form):
    """What a visitor typed; `cleaned_data` has the address as `email` and the reader's fields."""

    email = _AddressField(label="Email address")

    def __init__(self, data: Any = None, **options: Any) -> None:
        super().__init__(data, auto_id="%s", **options)
        for field in READER_FIELDS:
            self.fields[field.name] = _ReaderValueField(field)

    @property
    def how(self) -> How:
        how = (self.data or self.initial).get("how")
        return How.EMBEDDED_FORM if how == How.EMBEDDED_FORM else How.FORM

    @property
    def is_trapped(self) -> bool:
        return bool(self.data.get(TRAP))

    @property
    def values(self) -> dict[str, str]:
        return {name: self.cleaned_data[name] for name in FIELD_NAMES}

    def seconds_filling_in(self, now: float) -> float | None:
        """Seconds since the form was shown; None if it does not say, 0 if the time is not ours."""
        if "shown" not in self.data:
            return None
        try:
            return now - float(_SIGNER.unsign(self.data["shown"]))
        except signing.BadSignature:
            return 0.0


def prefilled_form(data: Any) -> SignUpForm:
    """Our form with the values of a form on another site, not validated yet."""
    names = ("email", *FIELD_NAMES)
    typed = {name: data.get(name, "")[:LONGEST_SHOWN] for name in names}
    return SignUpForm(initial={**typed, "how": How.EMBEDDED_FORM})


def embed_form_html(site_url: str) -> str:
    """A form without scripts and style; its controls are those that `prefilled_form` reads."""
    url = escape(site_url.rstrip("/") + reverse("subscribers:embedded"))
    fields = "".join(
        f'  <label>{field.label} <input name="{field.name}" autocomplete="{field.autocomplete}">'
        "</label>\n"
        for field in READER_FIELDS
    )
    return f"""\
<form action="{url}" method="post">
  <label>Email address <input name="email" type="email" autocomplete="email" required></label>
{fields}  <button>Subscribe</button>
</form>"""


def sign_time(now: float) -> str:
    """The time at which a form is shown, signed so that nobody makes one up."""
    return _SIGNER.sign(f"{now:.3f}")
