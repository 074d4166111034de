"""An SMTP server as a provider, through Django's e-mail framework."""

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.utils import formatdate
from typing import Any

import orjson
from django.conf import settings
from django.core.checks import CheckMessage
from django.core.checks import Warning as Advice
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.django_mail.classify_smtp import classify_error, classify_opening
from delivery.django_mail.watched_smtp import Watch, WatchedBackend
from delivery.django_mail.write_mime import write_mime
from delivery.provider.deadline_clock import now_s
from delivery.provider.provider_protocol import Asks, Capabilities, Provider
from delivery.rules.call_results import (
    AllAccepted,
    Answered,
    CallResult,
    MessageResult,
    NotSent,
    NotTried,
    Unanswered,
)
from delivery.rules.outcomes import Sent
from delivery.rules.reason import Reason, ReasonCode, Remedy

# With a larger batch, more copies would be unconfirmed if a worker is killed.
LARGEST_BATCH, BATCH = 100, 20
COPY_HEADER, TAG_HEADER = "X-Homing-Copy", "X-Homing-Tag"
REMEDIES: Mapping[str, Promise] = {
    Remedy.READ_REPLY: gettext_lazy(
        "Homing stopped before it marked any reader as failed. Do what the answer says, or ask the "
        "people who run the mail server. Then resume."
    ),
    Remedy.MAIL_LOGIN: gettext_lazy("Check the user and the password in EMAIL_URL, then resume."),
    Remedy.MAIL_SETTINGS: gettext_lazy("Check the scheme and the port in EMAIL_URL, then resume."),
}
# Nobody can be asked later. Homing keeps the records of calls for a month, for operators.
KEPT_DAYS = 30


class DjangoMail(Provider):
    """A kept connection to the configured SMTP server."""

    def __init__(self) -> None:
        self.deadline_s = settings.DELIVERY_HTTP_DEADLINE_S
        self._backend = WatchedBackend(Watch(), fail_silently=False)
        # A client that is dropped without `close` leaves no open socket.
        weakref.finalize(self, self._backend.drop)
        self._url = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"

    @classmethod
    def capabilities(cls) -> Capabilities:
        """Return what an SMTP server can do: it answers for each message, and no more."""
        return Capabilities(
            name=settings.EMAIL_HOST,
            asks=Asks.NEVER,
            largest_batch=LARGEST_BATCH,
            batch=BATCH,
            remembers_days=KEPT_DAYS,
        )

    @classmethod
    def check_settings(cls) -> Iterator[CheckMessage]:
        """Warn about a password that the network can read."""
        is_plain = not (settings.EMAIL_USE_TLS or settings.EMAIL_USE_SSL)
        is_local = settings.EMAIL_HOST in {"127.0.0.1", "localhost", "::1"}
        if is_plain and settings.EMAIL_HOST_PASSWORD and not is_local:
            sentence = _("EMAIL_URL has no TLS, so the password for {host} is sent unencrypted.")
            yield Advice(
                sentence.format(host=settings.EMAIL_HOST),
                hint=_("Use the scheme submission or submissions."),
                id="delivery.W008",
            )

    @classmethod
    def remedy_sentence(cls, remedy: str) -> str:
        """Return what to do about the login or the connection."""
        return str(REMEDIES.get(remedy, ""))

    def close(self) -> None:
        """Close the idle connection."""
        self._backend.drop()

    def send(
        self,
        body: bytes,
        addresses: Sequence[str],
        *,
        deadline_at_s: float,
        about_to_complete: Callable[[], None] = lambda: None,
    ) -> CallResult:
        """Send the messages one after another over one connection."""
        messages, date = orjson.loads(body), formatdate()
        if now_s() >= deadline_at_s:
            return NotSent(Reason.of(ReasonCode.NO_TIME_LEFT))
        results: list[MessageResult] = []
        with self._backend.call(deadline_at_s, self.deadline_s, about_to_complete):
            try:
                self._backend.make_ready()
            except Exception as error:  # noqa: BLE001 -- each kind has its result
                self._backend.drop()
                return classify_opening(error, self._url)
            for message in messages:
                results.append(self._send_one(message, date))
        accepted = [one for one in results if isinstance(one, Sent)]
        if len(accepted) == len(results):
            return AllAccepted([one.message_id for one in accepted], [None] * len(accepted))
        return Answered(results)

    def _send_one(self, message: Mapping[str, Any], date: str) -> MessageResult:
        watch = self._backend.watch
        if now_s() >= watch.deadline_at_s:
            return NotTried(Reason.of(ReasonCode.NO_TIME_LEFT))
        if not self._backend.is_open:
            return NotTried(Reason.of(ReasonCode.CONNECTION_ENDED))
        proof = copy_of(message)
        written = write_mime(message, date, {COPY_HEADER: proof, TAG_HEADER: message["tag"]})
        try:
            self._backend.send_one(message["sender"], message["to"], written)
        except OSError as error:
            is_late = now_s() >= watch.deadline_at_s
            result = classify_error(error, is_complete=watch.is_complete, is_late=is_late)
            # What a broken connection would do with the next message is unknown.
            if isinstance(result, NotTried | Unanswered):
                self._backend.drop()
            return result
        return Sent(proof, None)


def copy_of(message: Mapping[str, Any]) -> str:
    """Return the name of a copy and its attempt. It is the proof of the acceptance.

    A server gives an id only to its own log, so Homing's own name takes the place of an id.
    """
    metadata: Mapping[str, str] = message["metadata"]
    return f"{metadata['delivery']}@{metadata['attempt']}"
