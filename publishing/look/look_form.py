"""The form of the newsletter's look."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.models import Newsletter
from publishing.settings.setting_labels import LABELS

if TYPE_CHECKING:
    _ModelForm = forms.ModelForm[Newsletter]
else:
    _ModelForm = forms.ModelForm

_COLOUR = re.compile(r"#?([0-9a-f]{6}|[0-9a-f]{3})", re.IGNORECASE)
COLUMNS = ("accent", "typeface", "layout", "header")
_PREVIEW = ("shows", "device", "scheme")


class LookForm(_ModelForm):
    """The look, and what the preview shows."""

    accent = forms.CharField(max_length=20, label=gettext_lazy("Accent colour"))
    shows = forms.ChoiceField(
        label=gettext_lazy("Preview"),
        choices=[("letter", gettext_lazy("Letter")), ("page", gettext_lazy("Public page"))],
    )
    device = forms.ChoiceField(
        label=gettext_lazy("Width"),
        choices=[("desktop", gettext_lazy("Desktop")), ("phone", gettext_lazy("Phone"))],
    )
    scheme = forms.ChoiceField(
        label=gettext_lazy("Colours"),
        choices=[("light", gettext_lazy("Light")), ("dark", gettext_lazy("Dark"))],
    )

    class Meta:
        model = Newsletter
        fields = COLUMNS
        labels = LABELS

    def __init__(self, data: Any = None, instance: Newsletter | None = None) -> None:
        super().__init__(data, auto_id="%s", instance=instance)
        for name in _PREVIEW:
            self.fields[name].required = False

    def clean_accent(self) -> str:
        """Accept a colour with three or six digits, with or without `#`."""
        written = str(self.cleaned_data["accent"])
        found = _COLOUR.fullmatch(written)
        if found is None:
            raise forms.ValidationError(
                _("“{found}” is no colour. Enter one such as #0f5a6e.").format(found=written)
            )
        digits = found[1].lower()
        return f"#{digits if len(digits) == 6 else ''.join(2 * digit for digit in digits)}"

    @property
    def of_preview(self) -> list[forms.BoundField]:
        """The choices that only the preview uses."""
        return [self[name] for name in _PREVIEW]

    @property
    def columns(self) -> dict[str, str]:
        """The values of the newsletter's columns."""
        return {name: self.cleaned_data[name] for name in COLUMNS}
