"""The sign-up form.

Two traps catch programs: a hidden field, and the signed time at which the form was shown.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django import forms
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
from subscribers.signup import form_tags

TRAP = "reply"  # only programs fill it in
# Every control of the form besides the author's own fields.
CONTROLS = frozenset(
    ["csrfmiddlewaretoken", "email", "how", "shown", TRAP, form_tags.NAME, consent_wording.SIGNED]
    + [field.control for field in READER_FIELDS]
)
EXAMPLE = gettext_lazy("Enter an address such as ada@example.org.")
_SIGNER = signing.Signer(salt="the moment at which a sign-up form was shown")


class _TextField(forms.Field):
    def bound_data(self, data: Any, initial: Any) -> str:
        """Return the text that is shown again."""
        return shown_again(data or "")


class AddressField(_TextField):
    """An address, as `read_address` reads it."""

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


class _ReaderInput(forms.TextInput):
    def __init__(self, attrs: Mapping[str, str], earlier: str) -> None:
        super().__init__({**attrs})
        self._earlier = earlier

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        return data.get(name if name in data else self._earlier)


class ReaderValueField(_TextField):
    """The value of one of the reader's fields.

    Forms of earlier releases, also on other sites, post an own field under its bare key. It is read
    unless it is one of `ours`, the names of the form's other controls.
    """

    def __init__(self, field: ReaderField, ours: Collection[str]) -> None:
        attrs = {"autocomplete": field.autocomplete, "maxlength": str(field.longest)}
        widget = _ReaderInput(attrs, earlier="" if field.name in ours else field.name)
        super().__init__(required=False, label=field.label, widget=widget)
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
            self.fields[field.control] = ReaderValueField(field, CONTROLS)

    @property
    def how(self) -> How:
        how = (self.data or self.initial).get("how")
        return How(how) if how in OF_FORMS else How.FORM

    @property
    def tags(self) -> list[int]:
        return form_tags.read_tags((self.data or self.initial).get(form_tags.NAME, ""))

    @property
    def signed_tags(self) -> str:
        return form_tags.sign_tags(self.tags)

    @property
    def is_trapped(self) -> bool:
        return bool(self.data.get(TRAP))

    @property
    def values(self) -> dict[str, str]:
        return {field.name: self.cleaned_data[field.control] for field in self._reader_fields}

    def seconds_filling_in(self, now: float) -> float | None:
        """Return the seconds since the form was shown; None if unknown, 0 if forged."""
        if "shown" not in self.data:
            return None
        try:
            return now - float(_SIGNER.unsign(self.data["shown"]))
        except signing.BadSignature:
            return 0.0


def form_fields() -> tuple[ReaderField, ...]:
    """Load the fields of the form: the name, and those that the author chose."""
    return (*READER_FIELDS, *load_own_fields(on_form=True))


def prefilled_form(data: Any) -> SignUpForm:
    """Make our form with the unvalidated values of a form on another site."""
    typed = {name: shown_again(text) for name, text in data.items()}
    for name, field in SignUpForm().fields.items():
        typed[name] = field.widget.value_from_datadict(typed, {}, name) or ""
    return SignUpForm(initial={**typed, "how": How.EMBEDDED_FORM})


def embed_form_html(
    site_url: str, newsletter_name: str, fields: Sequence[ReaderField], tags: Iterable[int] = ()
) -> str:
    """Write the HTML of a form without scripts and styles, in the active language.

    It has the wording that is stored as consent, as text and as a signed value.
    """
    words, button = consent_wording.SIGN_UP, consent_wording.SIGN_UP_BUTTON
    wording = consent_wording.full_wording(newsletter_name, words, button)
    context = {
        "url": site_url.rstrip("/") + reverse("subscribers:embedded"),
        "fields": fields,
        "hidden": {
            form_tags.NAME: form_tags.sign_tags(tags),
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
