"""What is posted by the sheet before publishing: what its reader saw, and when it is to go out."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms

from publishing.publish.publish_draft import CHANGED, Agreed
from publishing.scheduling.schedule_form import ScheduleForm

NO_VERSION = 0


class PublishSheetForm(forms.Form):
    """
    Valid if a draft may be published as its reader saw it; then `agreed` says as what.

    `stands` is the revision, the hash and the version that the draft has now; None if it was
    published already: then whatever was seen is looked at beside the edition, and not here.
    `stopped` is why it may not be published at all, if it may not.
    """

    # As they were posted: what is none of these is simply not what stands.
    revision = forms.Field(required=False)
    content = forms.Field(required=False)
    version = forms.Field(required=False)

    agreed: Agreed

    def __init__(
        self,
        *args: Any,
        stands: tuple[int, bytes, int] | None,
        stopped: str,
        own_zone: str,
        now: datetime | None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._stands, self._stopped = stands, stopped
        self.when = ScheduleForm(self.data, own_zone=own_zone, now=now)

    def clean(self) -> dict[str, Any]:
        """One sentence where it may not be published; nothing is said twice."""
        seen = (
            _number(self.cleaned_data["revision"] or ""),
            _hash(self.cleaned_data["content"] or ""),
            _number(self.cleaned_data["version"] or ""),
        )
        is_understood = self.when.is_valid()
        self.agreed = Agreed(*seen, self.when.moment)
        if self._stands is None:
            return self.cleaned_data
        if seen != self._stands:
            self.add_error(None, CHANGED)
        elif self._stopped:
            self.add_error(None, self._stopped)
        elif not is_understood:
            self.add_error(
                None, next(str(error) for errors in self.when.errors.values() for error in errors)
            )
        return self.cleaned_data


def _number(said: str) -> int:
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else NO_VERSION


def _hash(said: str) -> bytes:
    try:
        return bytes.fromhex(said)
    except ValueError:
        return b""
