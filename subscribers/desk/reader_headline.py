"""The sentence at the top of a reader's page on the desk."""

from collections.abc import Mapping

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.interface import ReasonCode, provider_name
from delivery.mail.transactional_mail_texts import KIND_BY_ISSUE
from subscribers.data_requests.personal_data import PersonalData
from subscribers.data_requests.personal_data_sentences import STATES, StateLabel
from subscribers.models.subscriber import Subscriber
from subscribers.models.suppression import Suppression
from subscribers.suppression_sentences import provider_code, why_suppressed, words_of_code

State = Subscriber.State

_SENTENCES: Mapping[str, Promise] = {
    State.PENDING: gettext_lazy(
        "Not confirmed yet. The reader gets no letters until they confirm by email."
    ),
    State.CONFIRMED: gettext_lazy("Confirmed. The reader gets letters."),
    State.UNSUBSCRIBED: gettext_lazy(
        "Unsubscribed. The reader gets no letters. Only they can resubscribe."
    ),
    State.BOUNCED: gettext_lazy("Mail to this address bounced. The reader gets no letters."),
    State.COMPLAINED: gettext_lazy("Marked a letter as spam. The reader gets no letters."),
}
BLOCKED = gettext_lazy("An author blocked this address, so it gets no mail.")


def reader_headline(data: PersonalData) -> StateLabel:
    """Say whether this reader gets letters; if not, say why."""
    suppression = data.suppression
    if suppression and suppression["lifted_at"]:
        suppression = None
    if suppression and suppression["origin"] == Suppression.Origin.OPERATOR:
        if data.state == State.CONFIRMED:
            return _refused(str(BLOCKED))
        return _refused(f"{_SENTENCES[data.state]} {BLOCKED}")
    if data.state == State.CONFIRMED:
        if suppression:
            why = why_suppressed(suppression["reason"], suppression["origin"])
            return _refused(
                _("Confirmed, but the address is suppressed and gets no letters: {reason}.").format(
                    reason=why
                )
            )
        if refused := [one["stream"] for one in data.provider_suppressions if one["refuses"]]:
            return _refused(
                _(
                    "Confirmed, but {provider} does not deliver to this address (stream "
                    "“{stream}”)."
                ).format(stream=refused[0], provider=provider_name())
            )
        if _is_latest_letter_refused(data):
            return _refused(
                _(
                    "Confirmed, but {provider} did not deliver the latest letter to this address."
                ).format(provider=provider_name())
            )
    if why := _why_request_was_refused(data):
        sentence = _("{state} Cannot be mailed: {reason}.")
        return _refused(sentence.format(state=_SENTENCES[data.state], reason=why))
    return STATES[data.state]._replace(words=_SENTENCES[data.state])


def _why_request_was_refused(data: PersonalData) -> str:
    """Explain why the latest mail on request was refused; empty if it was not refused."""
    requested = [mail for mail in data.mails if mail["kind"] in KIND_BY_ISSUE.values()]
    if not requested or requested[-1]["reason_code"] != ReasonCode.INACTIVE_RECIPIENT:
        return ""
    for one in data.provider_suppressions:
        if one["refuses"] and one["stream"] == settings.TRANSACTIONAL_STREAM:
            return words_of_code(provider_code(one["reason"], one["origin"]))
    return _("the mail provider suppresses it and does not say why")


def _is_latest_letter_refused(data: PersonalData) -> bool:
    # The provider can refuse a mail to an address (error 406) before it reports that it suppressed
    # the address.
    for mail in reversed(data.mails):
        if mail["kind"] == "newsletter" and mail["outcome"] in {"sent", "suppressed"}:
            return bool(mail["reason_code"] == ReasonCode.INACTIVE_RECIPIENT)
    return False


def _refused(sentence: str) -> StateLabel:
    return StateLabel(sentence, "suppressed", "fault")
