"""The form of the confirmation page: what the author saw, and when the issue goes out."""

from datetime import datetime
from typing import Any

from django import forms

from publishing.drafts.draft_form import parse_hash, parse_revision
from publishing.publish.publish_draft import CHANGED, Confirmation
from publishing.scheduling.schedule_form import ScheduleForm


class ConfirmForm(forms.Form):
    """Has `confirmed`; valid if the draft is as its author saw it and nothing refuses it."""

    confirmed: Confirmation

    def __init__(
        self,
        *args: Any,
        current: tuple[int, bytes, int] | None,
        refusal: str,
        own_zone: str,
        now: datetime | None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._current, self._refusal = current, refusal
        self.when = ScheduleForm(self.data, own_zone=own_zone, now=now)

    def clean(self) -> dict[str, Any]:
        seen = (
            parse_revision(self.data.get("revision")),
            parse_hash(self.data.get("content")),
            parse_revision(self.data.get("version")),
        )
        time_is_valid = self.when.is_valid()
        self.confirmed = Confirmation(*seen, self.when.moment)
        if self._current is None:
            return self.cleaned_data
        if seen != self._current:
            self.add_error(None, CHANGED)
        elif self._refusal:
            self.add_error(None, self._refusal)
        elif not time_is_valid:
            errors = (error for errors in self.when.errors.values() for error in errors)
            self.add_error(None, str(next(errors)))
        return self.cleaned_data
