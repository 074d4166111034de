"""When an issue is to go out: now, or at a local time in a named zone. The fields of a form."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms

from publishing.scheduling.local_time import (
    InvalidMomentError,
    Moment,
    clock_change,
    read_moment,
    zones,
)

TIME_AND_NOW = "A time is named here, and “Now” is ticked: tick “At a time”, or take the time away."


class RescheduleForm(forms.Form):
    """
    A time: `at`, `zone` and, where that time comes twice, `which`.

    Once it is valid, `moment` is that time. `own_zone` is the newsletter's. `now` is the database's
    time, which decides whether a time is past; None accepts any time, for a form whose key was used
    before. `choices` are the two moments that a time may mean, once it was found to mean two.
    """

    at = forms.CharField(
        required=False,
        label="Date and time",
        widget=forms.DateTimeInput(
            attrs={"type": "datetime-local", "step": "60", "aria-describedby": "when-said"}
        ),
    )
    zone = forms.CharField(required=False, label="Time zone", widget=forms.Select)
    which = forms.CharField(required=False, label="Which of the two")

    moment: Moment | None = None
    choices: tuple[Moment, ...] = ()

    def __init__(self, *args: Any, own_zone: str, now: datetime | None, **kwargs: Any) -> None:
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
        """One sentence at the field that has to be said differently."""
        found = self.cleaned_data
        try:
            self.moment = read_moment(
                found.get("at", ""), found.get("zone", ""), found.get("which", ""), now=self.now
            )
        except InvalidMomentError as refused:
            self.choices = refused.choices
            self.add_error(refused.field, refused.sentence)
        return found

    @property
    def said(self) -> str:
        """What the time comes to, with UTC and the change of the clocks; empty if it is now."""
        if self.moment is None:
            return ""
        if self.now is None:
            return f"{self.moment.words}."
        return f"{self.moment.words}. {clock_change(self.moment, self.now)}".strip()


class ScheduleForm(RescheduleForm):
    """
    `when` is now or at a time; `moment` is None for now.

    A post without `when` means now: forms of scripts have none. A time beside now is refused,
    because now cannot be taken back.
    """

    when = forms.ChoiceField(
        required=False,
        initial="now",
        choices=[("now", "Now"), ("at", "At a time")],
        widget=forms.RadioSelect,
    )

    def clean(self) -> dict[str, Any]:
        """One sentence at the field that has to be said differently."""
        found = self.cleaned_data
        if found.get("when") == "at":
            return super().clean()
        if found.get("at"):
            # Which of the two was meant is not guessed: now cannot be taken back.
            self.add_error("at", TIME_AND_NOW)
        return found

    @property
    def is_at_a_time(self) -> bool:
        """Whether the second of the two choices is ticked."""
        return bool(self["when"].value() == "at")
