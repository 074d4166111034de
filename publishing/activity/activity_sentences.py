"""Words for the entries of the activity log, which hold codes and parameters."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.contrib.admin.models import LogEntry

from delivery.humanise import counted_readers, late_duration
from delivery.reports.edition_words import audience_words
from delivery.rules.scheduled_time import ScheduledTime

Params = Mapping[str, Any]
NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class ActivitySentence:
    """
    The words around the name of a thing: “dropped the copies”, “of” Swifts, “ from …”.

    `version` is the version of an issue, if the activity is about one. `automatic` is what that
    version did without anybody, as it follows “it”.
    """

    before: str
    preposition: str = ""
    after: str = ""
    version: int | None = None
    automatic: str = ""

    @property
    def until_thing(self) -> str:
        """All words before the name of the thing. Version 1 is not mentioned."""
        version = f"version {self.version} of" if (self.version or 1) > 1 else ""
        return " ".join(filter(None, (self.before, self.preposition, version)))

    def with_person(self, name: str) -> str:
        """The sentence on the page of the thing itself: “Edith: paused”."""
        if self.automatic:
            return f"It {self.automatic}"
        return f"{name}: {self.before}{self.after}"

    def __str__(self) -> str:
        """The sentence without the name of its thing: “Published version 1 to 3 readers.”"""
        version = f"{self.preposition} version {self.version}".strip() if self.version else ""
        words = " ".join(filter(None, (self.before, version)))
        return f"{words[:1].upper()}{words[1:]}{self.after}."


def sentence_of(entry: LogEntry) -> ActivitySentence:
    """The words of one entry."""
    code, params = code_of(entry)
    if not code:
        return _change_in_admin(entry)
    if code in _FUNCTIONS:
        sentence = _FUNCTIONS[code](params)
    elif code in _WORDS:
        sentence = ActivitySentence(*_WORDS[code])
    else:  # a newer version recorded it
        sentence = ActivitySentence(code.replace("_", " "), "to")
    from_shell = ", from the command line" if params.get("from_command_line") else ""
    after = f"{sentence.after}{from_shell}"
    return replace(sentence, after=after, version=params.get("version"))


def code_of(entry: LogEntry) -> tuple[str, Params]:
    """The code of an entry and its parameters; no code where Django recorded it."""
    try:
        stored = json.loads(entry.change_message)
    except ValueError:
        return "", {}
    if not isinstance(stored, dict):
        return "", {}
    return stored.pop("code", ""), stored


def _change_in_admin(entry: LogEntry) -> ActivitySentence:
    if entry.is_addition() or entry.is_deletion():
        return ActivitySentence("added" if entry.is_addition() else "deleted")
    if entry.change_message in ("", "[]"):
        return ActivitySentence("saved", after=", with nothing changed")
    words = entry.get_change_message().removesuffix(".")
    return ActivitySentence(f"{words[:1].lower()}{words[1:]}", "of")


# --- The words of each code -----------------------------------------------------------------------

# Before the thing, a preposition, and after it.
_WORDS: Mapping[str, tuple[str] | tuple[str, str] | tuple[str, str, str]] = {
    "pause": ("paused",),
    "resume": ("resumed",),
    "call-back": ("called back",),
    "send-now": ("sent", "", " at once"),
    "send-to-missed": ("sent to the missed readers", "of"),
    "ask-again": ("asked Postmark again", "about"),
    "send-doubtful": ("resent the unconfirmed copies", "of"),
    "close": ("closed",),
    "cancel": ("cancelled",),
    "list": ("made", "", " listed"),
    "unlist": ("made", "", " unlisted"),
    "acknowledge_alarms": ("looked at the alarms", "of"),
    "drop_copies": ("dropped the copies", "of"),
    "begin_draft": ("began the draft",),
    "continue_draft": ("continued the draft", "", ", which somebody else had saved"),
    "delete_draft": ("deleted the draft",),
    "upload": ("uploaded", "", " to be checked"),
    "discard": ("discarded", "", "; nobody was imported"),
    "add_by_program": ("added", "", " by a program"),
    "add": ("added",),
    "edit": ("edited",),
    "unsubscribe": ("unsubscribed",),
    "shut-out": ("blocked the address", "of"),
    "let-in": ("unblocked the address", "of"),
    "erase": ("erased",),
    "download_data": ("downloaded the data", "of"),
    "set_up_two_step": ("set up two-step sign-in", "for"),
    "remove_two_step": ("switched two-step sign-in off", "for"),
    "remove_two_step_by_operator": ("had two-step sign-in switched off by an operator", "for"),
    "new_recovery_codes": ("made new recovery codes", "for"),
    "forget_failures": ("had the failed sign-ins forgotten by an operator", "for"),
    "revoke_token": ("revoked",),
}


def _published(params: Params) -> ActivitySentence:
    audience = audience_words(params["goes_to"])
    if params["goes_to"] != NOBODY:
        readers = counted_readers(params["audience"])
        # A first version always goes to everyone.
        audience = readers if params["version"] == 1 else f"{audience}: {readers}"
    return ActivitySentence("published", after=f" to {audience}{_listing_and_approval(params)}")


def _scheduled(params: Params) -> ActivitySentence:
    by_then = "" if params["goes_to"] == NOBODY else " by then"
    audience = f"{audience_words(params['goes_to'])}{by_then}"
    after = f" for {_time(params['at'])}, to {audience}{_listing_and_approval(params)}"
    return ActivitySentence("scheduled", after=after)


def _rescheduled(params: Params) -> ActivitySentence:
    before = f"; it was to go out {_time(params['before'])}"
    return ActivitySentence("rescheduled", after=f" for {_time(params['at'])}{before}")


def _started(params: Params) -> ActivitySentence:
    readers = counted_readers(params["audience"])
    late = late_duration(params["late_s"])
    if params["went_out_before"]:
        what = (
            "was found at Postmark after the database was restored, so it had gone out; it is "
            f"paused, with {readers} in its audience"
        )
    elif params["is_paused"]:
        what = (
            f"was due {late} before and no worker had started it; it is published to {readers} "
            "and paused"
        )
    elif late:
        what = f"went out automatically to {readers}, {late} late: no worker had started it before"
    else:
        what = f"went out automatically at its time, to {readers}"
    return ActivitySentence("scheduled", after=f", which {what}", automatic=what)


def _downloaded_readers(params: Params) -> ActivitySentence:
    outcome = params["outcome"]
    which = "all readers" if outcome == "all" else f"the {outcome} readers"
    return ActivitySentence(f"downloaded {which}", "of", " as CSV")


def _downloaded_list(params: Params) -> ActivitySentence:
    readers = f"{params['state']} readers" if params["state"] else "readers"
    return ActivitySentence(f"downloaded the list of {readers} as CSV")


def _imported(params: Params) -> ActivitySentence:
    if "statement" in params:
        consent = f"with consent given elsewhere: {params['statement']}"
    else:
        consent = "asking each reader to confirm"
    return ActivitySentence("imported", after=f", {consent}")


def _signed_in(params: Params) -> ActivitySentence:
    browser = " from a browser that was not known yet" if params["new_browser"] else ""
    code = ", with a recovery code" if params["recovery_code"] else ""
    return ActivitySentence("signed in", "to", f"{browser}{code}, network {params['network']}")


def _made_token(params: Params) -> ActivitySentence:
    days = f", for {params['days']} days" if params["days"] is not None else ""
    return ActivitySentence("made", after=f" for {', '.join(params['scopes'])}{days}")


_FUNCTIONS: Mapping[str, Callable[[Params], ActivitySentence]] = {
    "publish": _published,
    "schedule": _scheduled,
    "reschedule": _rescheduled,
    "start": _started,
    "download_readers": _downloaded_readers,
    "download_list": _downloaded_list,
    "import": _imported,
    "sign_in": _signed_in,
    "make_token": _made_token,
    "approve_draft": lambda params: ActivitySentence(
        f"approved revision {params['revision']}", "of"
    ),
}


def _listing_and_approval(params: Params) -> str:
    approval = f", approved by {params['approved_by']}" if params["approved_by"] else ""
    return f"{', unlisted' if params['unlisted'] else ''}{approval}"


def _time(at: Mapping[str, str]) -> str:
    return ScheduledTime(datetime.fromisoformat(at["utc"]), at["local"], at["zone"]).words
