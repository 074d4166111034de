"""The form field of a name."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _

from delivery.control_characters import CONTROL_CHARACTERS, clean_name


class OneLineField(forms.CharField):
    """A text on one line, with single spaces.

    A text without a visible character counts as empty. Control characters are refused.
    """

    def to_python(self, value: Any) -> str:
        text = clean_name(super().to_python(value) or "")
        if CONTROL_CHARACTERS.search(text):
            raise forms.ValidationError(_("The text contains control characters. Remove them."))
        return text
