"""The form fields for when an issue is sent: now, or at a local time in a zone."""

from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from delivery.models import Newsletter
from delivery.rules.scheduled_time import ScheduledTime
from publishing.scheduling.local_time import (
    InvalidTimeError,
    choices_of,
    fold_choice,
    parse_scheduled_time,
)
from publishing.scheduling.zone_input import ZoneInput

TIME_AND_NOW = _("You entered a time but chose “Now”. Choose “Schedule”, or clear the time.")


class RescheduleForm(forms.Form):
    """A form in which an author enters a local time.

    Validation sets `moment` if the time is valid, and `choices` if the local time occurs twice.
    With `now=None`, past times are valid. `shown` is the time that a form shows before it is
    posted.
    """

    at = forms.CharField(
        required=False,
        label=_("Date and time"),
        widget=forms.DateTimeInput(
            attrs={"type": "datetime-local", "step": "60", "aria-describedby": "when-said"}
        ),
    )
    zone = forms.CharField(required=False, label=_("Time zone"), widget=ZoneInput)
    which = forms.CharField(required=False, label=_("Which one"))

    moment: ScheduledTime | None = None
    choices: tuple[ScheduledTime, ...] = ()

    def __init__(
        self, data: Any = None, *, now: datetime | None, shown: ScheduledTime | None = None
    ) -> None:
        initial = {"zone": Newsletter.objects.get_current().time_zone}
        if shown:
            initial = {"at": shown.local, "zone": shown.zone, "which": fold_choice(shown)}
            self.choices = choices_of(shown)
        super().__init__(data, initial=initial)
        self.now = now
        self.moment = shown
        for name in ("at", "zone"):
            if self.is_bound and name in self.errors:
                self.fields[name].widget.attrs |= {
                    "autofocus": True,
                    "aria-invalid": "true",
                    "aria-describedby": f"when-{name}-error when-said",
                }

    def clean(self) -> dict[str, Any]:
        found = self.cleaned_data
        try:
            self.moment = parse_scheduled_time(
                found.get("at", ""), found.get("zone", ""), found.get("which", ""), now=self.now
            )
            self.choices = choices_of(self.moment)
        except InvalidTimeError as refused:
            self.choices = refused.choices
            self.add_error(refused.field, refused.sentence)
        return found

    @property
    def sentence(self) -> str:
        """What the posted time means, or why it is refused; empty without a time."""
        if not self["at"].value():
            return ""
        errors = [str(error) for name in self.errors for error in self.errors[name]]
        return errors[0] if errors else f"{self.moment.words}." if self.moment else ""


class ScheduleForm(RescheduleForm):
    """A form with the choice between now and a local time.

    If the choice is now, or `when` is missing, `moment` is None.
    """

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
