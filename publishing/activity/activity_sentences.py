"""Make sentences from the codes and parameters of the entries in the activity log."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.admin.models import LogEntry
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from delivery.humanise import digits, late_duration
from delivery.reports.edition_sentences import audience_words
from delivery.rules.scheduled_time import ScheduledTime
from publishing.desk_roles import role_label
from publishing.display_name import called
from publishing.progress_bar import outcome_label
from publishing.settings.setting_labels import LABELS
from subscribers.data_requests.personal_data_sentences import STATES

Params = Mapping[str, Any]
# A text and its parameters. Besides placeholders for the parameters, the text may have {who} and
# {thing}.
Text = tuple[str, Params]
NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class ActivitySentence:
    """Sentences that say what a user did with an object, such as an issue.

    If the object is an issue, `version` is its version.
    """

    texts: tuple[Text, ...]
    version: int | None = None

    def as_html(self, who: str, thing: str) -> SafeString:
        """Return the sentences as HTML; `thing` is the object's name or a link to it.

        The sentences name the version of an issue only if it is not version 1.
        """
        if self.version is not None and self.version > 1:
            text = _("version {version} of {issue}")
            thing = format_html(text, version=self.version, issue=thing)
        return format_html_join(
            " ",
            "{}",
            ((format_html(text, who=who, thing=thing, **given),) for text, given in self.texts),
        )

    def on_own_page(self, who: str) -> str:
        """Return the sentences for the issue's own page, without the issue's title."""
        if self.version is None:
            return self.as_text(who, _("the issue"))
        return self.as_text(who, _("version {version}").format(version=self.version))

    def as_text(self, who: str, thing: str) -> str:
        """Return the sentences without markup."""
        return " ".join(text.format(who=who, thing=thing, **given) for text, given in self.texts)


def plain_sentence_of(entry: LogEntry) -> str:
    """Return the sentences of an entry as the admin shows them."""
    sentence, name = sentence_of(entry), entry.object_repr
    if sentence.version is not None and sentence.version > 1:
        name = _("version {version} of {issue}").format(version=sentence.version, issue=name)
    return sentence.as_text(called(entry.user), name)


def sentence_of(entry: LogEntry) -> ActivitySentence:
    """Return the sentences of an entry."""
    code, params = code_of(entry)
    code = _RENAMED.get(code, code)
    if not code:
        return _change_in_admin(entry)
    if code in _FUNCTIONS:
        sentence = _FUNCTIONS[code](params)
    elif code in _TEXTS:
        sentence = _said(str(_TEXTS[code]), **params)
    else:  # a newer release of Homing recorded this code
        sentence = _said(_("{who} did “{code}” with {thing}."), code=code)
    texts = sentence.texts
    if params.get("from_command_line"):
        texts = (*texts, (_("This was done on the command line."), {}))
    return ActivitySentence(texts, params.get("version"))


def code_of(entry: LogEntry) -> tuple[str, Params]:
    """Return an entry's code and parameters; an entry by Django has an empty code."""
    try:
        stored = json.loads(entry.change_message)
    except ValueError:
        return "", {}
    if not isinstance(stored, dict):
        return "", {}
    return stored.pop("code", ""), stored


def _said(text: str, *more: Text, **params: object) -> ActivitySentence:
    return ActivitySentence(((text, params), *more))


def _change_in_admin(entry: LogEntry) -> ActivitySentence:
    if entry.is_addition():
        return _said(_("{who} added {thing}."))
    if entry.is_deletion():
        return _said(_("{who} deleted {thing}."))
    if entry.change_message in ("", "[]"):
        return _said(_("{who} saved {thing} without changes."))
    return _said(_("{who} saved {thing}. {changes}"), changes=entry.get_change_message())


# --- The sentences of each code -------------------------------------------------------------------

# The keys are former codes, which older entries still have. The values are the current codes.
_RENAMED = {"send-doubtful": "resend-unknown", "shut-out": "block", "let-in": "unblock"}
_TEXTS: Mapping[str, Promise] = {
    "pause": gettext_lazy("{who} paused {thing}."),
    "resume": gettext_lazy("{who} resumed {thing}."),
    "call-back": gettext_lazy("{who} called back {thing}."),
    "send-now": gettext_lazy("{who} sent {thing} immediately."),
    "send-to-missed": gettext_lazy("{who} sent {thing} to missed readers."),
    "ask-again": gettext_lazy("{who} checked the unconfirmed copies of {thing} again."),
    "treat-as-sent": gettext_lazy("{who} counted the unconfirmed copies of {thing} as sent."),
    "resend-unknown": gettext_lazy("{who} resent the unconfirmed copies of {thing}."),
    "close": gettext_lazy("{who} closed {thing}."),
    "cancel": gettext_lazy("{who} cancelled {thing}."),
    "list": gettext_lazy("{who} listed {thing} in the archive."),
    "unlist": gettext_lazy("{who} made {thing} unlisted."),
    "acknowledge_alarms": gettext_lazy("{who} acknowledged the alarms of {thing}."),
    "drop_copies": gettext_lazy("{who} deleted the copies of {thing}."),
    "begin_draft": gettext_lazy("{who} started the draft {thing}."),
    "continue_draft": gettext_lazy(
        "{who} continued the draft {thing}, which somebody else had saved."
    ),
    "delete_draft": gettext_lazy("{who} deleted the draft {thing}."),
    "upload": gettext_lazy("{who} uploaded {thing} to be checked."),
    "undo": gettext_lazy("{who} undid the import of {thing}."),
    "discard": gettext_lazy("{who} discarded {thing}. No reader was imported."),
    "add_by_program": gettext_lazy("{who} added {thing} with a program."),
    "add": gettext_lazy("{who} added {thing}."),
    "edit": gettext_lazy("{who} edited {thing}."),
    "delete": gettext_lazy("{who} deleted {thing}."),
    "unsubscribe": gettext_lazy("{who} unsubscribed {thing}."),
    "correct_address": gettext_lazy("{who} corrected the address of {thing}."),
    "block": gettext_lazy("{who} blocked the address of {thing}."),
    "unblock": gettext_lazy("{who} unblocked the address of {thing}."),
    "erase": gettext_lazy("{who} erased {thing}."),
    "download_data": gettext_lazy("{who} downloaded the data of {thing}."),
    "turn_on_welcome": gettext_lazy("{who} turned on the welcome letter {thing}."),
    "turn_off_welcome": gettext_lazy("{who} turned off the welcome letter {thing}."),
    "lift-bounce": gettext_lazy("{who} lifted the bounce of {thing}. Reason: {reason}"),
    "approve_draft": gettext_lazy("{who} approved revision {revision} of the draft {thing}."),
    "change_sender": gettext_lazy("{who} changed the sender of {thing} to {sender}."),
    "request_export": gettext_lazy("{who} requested {thing} of everything."),
    "move_issues": gettext_lazy("{who} uploaded {thing} to move in its issues."),
    "download_export": gettext_lazy("{who} downloaded {thing} of everything."),
    "set_up_two_step": gettext_lazy("{who} set up two-step sign-in for {thing}."),
    "remove_two_step": gettext_lazy("{who} turned off two-step sign-in for {thing}."),
    "remove_two_step_by_operator": gettext_lazy(
        "An operator turned off two-step sign-in for {thing}."
    ),
    "new_recovery_codes": gettext_lazy("{who} created new recovery codes for {thing}."),
    "add_passkey": gettext_lazy("{who} added the passkey “{passkey}” to {thing}."),
    "rename_passkey": gettext_lazy("{who} renamed the passkey “{passkey}” to “{new_name}”."),
    "remove_passkey": gettext_lazy("{who} deleted the passkey “{passkey}” of {thing}."),
    "remove_passkeys_by_operator": gettext_lazy("An operator deleted the passkeys of {thing}."),
    "link_organisation": gettext_lazy("{who} linked {thing} to an account at {issuer}."),
    "unlink_organisation": gettext_lazy("{who} removed the link of {thing} to {issuer}."),
    "forget_failures": gettext_lazy("An operator reset the failed sign-ins of {thing}."),
    "add_account": gettext_lazy("An operator added the account {thing}."),
    "change_groups": gettext_lazy("An operator changed the groups of {thing}."),
    "disable_account": gettext_lazy("An operator disabled the account {thing}."),
    "enable_account": gettext_lazy("An operator enabled the account {thing}."),
    "revoke_token": gettext_lazy("{who} revoked {thing}."),
    "withdraw_invitation": gettext_lazy("{who} withdrew the invitation of {thing}."),
    "disable_author": gettext_lazy("{who} disabled {thing}."),
    "enable_author": gettext_lazy("{who} enabled {thing}."),
    "leave": gettext_lazy("{who} left. All sessions and API tokens of the account ended."),
}


def _published(params: Params) -> ActivitySentence:
    readers, more = params["audience"], _listing_and_approval(params)
    if params["goes_to"] == NOBODY:
        return _said(_("{who} published {thing} in the archive only."), *more)
    if params["version"] > 1 or params.get("with_tags") or params.get("without_tags"):
        more = ((_("Audience: {audience}."), _audience(params)), *more)
    text = ngettext(
        "{who} published {thing} to {n} reader.", "{who} published {thing} to {n} readers.", readers
    )
    return _said(text, *more, n=digits(readers))


def _scheduled(params: Params) -> ActivitySentence:
    audience: Text = (_("Audience: {audience}."), _audience(params, is_scheduled=True))
    return _said(
        _("{who} scheduled {thing} for {time}."),
        audience,
        *_listing_and_approval(params),
        time=_time(params["at"]),
    )


def _rescheduled(params: Params) -> ActivitySentence:
    before: Text = (_("Its time before was {time}."), {"time": _time(params["before"])})
    return _said(_("{who} rescheduled {thing} for {time}."), before, time=_time(params["at"]))


def _started(params: Params) -> ActivitySentence:
    readers, late = params["audience"], late_duration(params["late_s"])
    if params["went_out_before"]:
        text = ngettext(
            "It had already gone out before the database was restored. It is paused, with {n} "
            "reader in its audience.",
            "It had already gone out before the database was restored. It is paused, with {n} "
            "readers in its audience.",
            readers,
        )
    elif params["is_paused"]:
        text = ngettext(
            "No worker started it until {late} after its time. It was published to {n} reader and "
            "paused.",
            "No worker started it until {late} after its time. It was published to {n} readers and "
            "paused.",
            readers,
        )
    elif late:
        text = ngettext(
            "It went out automatically to {n} reader, {late} late: no worker had started it.",
            "It went out automatically to {n} readers, {late} late: no worker had started it.",
            readers,
        )
    else:
        text = ngettext(
            "It went out automatically at its time, to {n} reader.",
            "It went out automatically at its time, to {n} readers.",
            readers,
        )
    started: Text = (text, {"n": digits(readers), "late": late})
    return _said(_("{who} had scheduled {thing}."), started)


def _downloaded_readers(params: Params) -> ActivitySentence:
    outcome = params["outcome"]
    if outcome == "all":
        return _said(_("{who} downloaded all readers of {thing} as CSV."))
    return _said(
        _("{who} downloaded the readers of {thing} with the outcome “{outcome}” as CSV."),
        outcome=outcome_label(outcome),
    )


def _downloaded_list(params: Params) -> ActivitySentence:
    state = params["state"]
    if not state:
        return _said(_("{who} downloaded the list of readers as CSV."))
    if state == "suppressed":
        return _said(_("{who} downloaded the suppressed addresses as CSV."))
    label = STATES.get(state)
    return _said(
        _("{who} downloaded the list of readers with the state “{state}” as CSV."),
        state=label.short if label else state,
    )


def _imported(params: Params) -> ActivitySentence:
    if "statement" in params:
        text = _("{who} imported {thing}. How the readers consented: {statement}")
        return _said(text, statement=params["statement"])
    if params.get("added") == 0:
        return _said(_("{who} imported {thing}. It adds no readers."))
    return _said(_("{who} imported {thing}. Each reader is asked to confirm."))


def _changed_readers(params: Params) -> ActivitySentence:
    n, action = params["readers"], str(params["action"])
    texts = {
        "tag": ngettext(
            "{who} put the tag “{tag}” on {n} reader.",
            "{who} put the tag “{tag}” on {n} readers.",
            n,
        ),
        "untag": ngettext(
            "{who} took the tag “{tag}” off {n} reader.",
            "{who} took the tag “{tag}” off {n} readers.",
            n,
        ),
        "unsubscribe": ngettext(
            "{who} unsubscribed {n} reader.", "{who} unsubscribed {n} readers.", n
        ),
        "block": ngettext(
            "{who} blocked the address of {n} reader.",
            "{who} blocked the addresses of {n} readers.",
            n,
        ),
        "lift-bounce": ngettext(
            "{who} lifted the bounce of {n} reader. Reason: {reason}",
            "{who} lifted the bounces of {n} readers. Reason: {reason}",
            n,
        ),
        "erase": ngettext("{who} erased {n} reader.", "{who} erased {n} readers.", n),
    }
    reason = params.get("reason", "")
    return _said(texts[_RENAMED.get(action, action)], n=digits(n), tag=params["tag"], reason=reason)


def _stopped_change(params: Params) -> ActivitySentence:
    text = _("{who} stopped a change of readers. Changed: {changed} of {total}.")
    return _said(text, changed=digits(params["changed"]), total=digits(params["total"]))


def _signed_in(params: Params) -> ActivitySentence:
    text = (
        _("{who} signed in from the network {network}, with a browser that was not used before.")
        if params["new_browser"]
        else _("{who} signed in from the network {network}.")
    )
    methods = {
        "passkey": _("A passkey was used."),
        "organisation": _("The organisation’s account was used."),
    }
    used = _("A recovery code was used.") if params["recovery_code"] else ""
    used = used or methods.get(params.get("method", ""), "")
    return _said(text, *([(used, {})] if used else []), network=params["network"])


def _made_token(params: Params) -> ActivitySentence:
    more: list[Text] = [(_("Scopes: {scopes}."), {"scopes": ", ".join(params["scopes"])})]
    days = params["days"]
    if days is not None:
        text = ngettext("It expires after {n} day.", "It expires after {n} days.", days)
        more.append((text, {"n": digits(days)}))
    return _said(_("{who} created {thing}."), *more)


def _with_role(text: Promise) -> Callable[[Params], ActivitySentence]:
    return lambda params: _said(str(text), role=role_label(params["role"]))


def _handed_over(params: Params) -> ActivitySentence:
    n = params["drafts"]
    text = ngettext(
        "{who} handed over {n} draft of {thing} to {to}.",
        "{who} handed over {n} drafts of {thing} to {to}.",
        n,
    )
    return _said(text, n=digits(n), to=params["to"])


def _signed_out_elsewhere(params: Params) -> ActivitySentence:
    n = params["sessions"]
    text = ngettext(
        "{who} ended {n} other session of {thing}.", "{who} ended {n} other sessions of {thing}.", n
    )
    return _said(text, n=digits(n))


def _changed_settings(params: Params) -> ActivitySentence:
    names = [
        str(LABELS.get(field, field))
        for field in params["fields"]
        if field not in ("logo_width", "logo_height")
    ]
    return _said(_("{who} changed the settings of {thing}: {settings}."), settings=", ".join(names))


_FUNCTIONS: Mapping[str, Callable[[Params], ActivitySentence]] = {
    "publish": _published,
    "schedule": _scheduled,
    "reschedule": _rescheduled,
    "start": _started,
    "download_readers": _downloaded_readers,
    "download_list": _downloaded_list,
    "change_readers": _changed_readers,
    "stop_change": _stopped_change,
    "import": _imported,
    "sign_in": _signed_in,
    "make_token": _made_token,
    "change_settings": _changed_settings,
    "invite_author": _with_role(gettext_lazy("{who} invited {thing} with the role {role}.")),
    "invite_again": _with_role(gettext_lazy("{who} invited {thing} again with the role {role}.")),
    "accept_invitation": _with_role(
        gettext_lazy("{who} accepted an invitation with the role {role}.")
    ),
    "change_role": _with_role(gettext_lazy("{who} changed the role of {thing} to {role}.")),
    "hand_over": _handed_over,
    "sign_out_elsewhere": _signed_out_elsewhere,
}


def _audience(params: Params, *, is_scheduled: bool = False) -> Params:
    # Entries of earlier releases have no tags.
    tags = (params.get(name) or () for name in ("with_tags", "without_tags"))
    return {"audience": audience_words(params["goes_to"], *tags, is_scheduled=is_scheduled)}


def _listing_and_approval(params: Params) -> tuple[Text, ...]:
    texts: list[Text] = []
    if params.get("archive") == "none":
        texts.append((_("It is not in the archive."), {}))
    elif params["unlisted"]:
        texts.append((_("It is unlisted."), {}))
    if params["approved_by"]:
        texts.append((_("{approver} approved it."), {"approver": params["approved_by"]}))
    return tuple(texts)


def _time(at: Mapping[str, str]) -> str:
    return ScheduledTime(datetime.fromisoformat(at["utc"]), at["local"], at["zone"]).words
