"""The form fields for when an issue goes out: now, or at a local time in a zone."""

from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from delivery.models import Newsletter
from delivery.rules.scheduled_time import ScheduledTime
from publishing.scheduling.local_time import InvalidTimeError, parse_scheduled_time, zones

TIME_AND_NOW = _("You entered a time but chose “Now”. Choose “Schedule”, or clear the time.")


class RescheduleForm(forms.Form):
    """A local time. Sets `moment`, or `choices` if it occurs twice.

    With `now=None`, past times are valid.
    """

    at = forms.CharField(
        required=False,
        label=_("Date and time"),
        widget=forms.DateTimeInput(
            attrs={"type": "datetime-local", "step": "60", "aria-describedby": "when-said"}
        ),
    )
    zone = forms.CharField(required=False, label=_("Time zone"), widget=forms.Select)
    which = forms.CharField(required=False, label=_("Which one"))

    moment: ScheduledTime | None = None
    choices: tuple[ScheduledTime, ...] = ()

    def __init__(self, *args: Any, now: datetime | None, **kwargs: Any) -> None:
        own_zone = Newsletter.objects.get_current().time_zone
        kwargs["initial"] = {"zone": own_zone, **(kwargs.get("initial") or {})}
        super().__init__(*args, **kwargs)
        self.now = now
        chosen = str(self["zone"].value() or "")
        self.fields["zone"].widget.choices = zones(own_zone, chosen)
        for name in ("at", "zone"):
            if self.is_bound and name in self.errors:
                self.fields[name].widget.attrs |= {
                    "aria-invalid": "true",
                    "aria-describedby": f"when-{name}-error when-said",
                }

    def clean(self) -> dict[str, Any]:
        found = self.cleaned_data
        try:
            self.moment = parse_scheduled_time(
                found.get("at", ""), found.get("zone", ""), found.get("which", ""), now=self.now
            )
        except InvalidTimeError as refused:
            self.choices = refused.choices
            self.add_error(refused.field, refused.sentence)
        return found


class ScheduleForm(RescheduleForm):
    """Now, or at a time; `moment` is None for now. A missing `when` means now."""

    when = forms.ChoiceField(
        required=False,
        initial="now",
        choices=[("now", _("Now")), ("at", _("Schedule"))],
        widget=forms.RadioSelect,
    )

    def clean(self) -> dict[str, Any]:
        found = self.cleaned_data
        if found.get("when") == "at":
            return super().clean()
        if found.get("at"):
            self.add_error("at", TIME_AND_NOW)
        return found
