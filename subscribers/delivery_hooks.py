"""The functions about readers that delivery calls through hooks."""

from collections.abc import Collection, Mapping, Sequence

from django.conf import settings
from django.db.models import Q

from delivery.interface import request_lifting
from delivery.models import Edition
from subscribers.consent.consent_log import REFUSED_ON_SENDING, record_consent
from subscribers.data_requests.erase import erased_among
from subscribers.links import request_token
from subscribers.links.request_token import Request
from subscribers.links.unsubscribe_token import PREFERENCES, tokens_for
from subscribers.models import ConsentRecord, Subscriber, Suppression
from subscribers.models.consent_record import OF_FORMS, Act, How
from subscribers.reserve_ids import reserve_ids
from subscribers.suppression.apply_events_to_readers import apply_events

# For each kind of mail: the records which show that the reader requested it.
REQUESTED_BY: Mapping[str, Q] = {
    Edition.Kind.CONFIRMATION: Q(act=Act.ASKED, how__in=OF_FORMS),
    Edition.Kind.RECORD: Q(act=Act.RECORD_ASKED),
}


class RegisteredReaders:
    """The functions about readers; `newsletter_site` registers them as `reader_hooks`."""

    apply_events = staticmethod(apply_events)
    reserve_ids = staticmethod(reserve_ids)

    def suppressed_among(self, addresses: Sequence[str]) -> Collection[str]:
        """Return the suppressed addresses among `addresses`, ignoring case."""
        keys = [address.lower() for address in addresses]
        found = Suppression.objects.filter(address_key__in=keys, lifted_at=None)
        listed = set(found.values_list("address_key", flat=True))
        return {address for address in addresses if address.lower() in listed}

    def mark_refused(self, recipients: Sequence[int], kind: str) -> None:
        """Mark these readers as `bounced`, because the provider refuses their addresses.

        Runs in the caller's transaction. If the provider refused transactional mail, only
        unconfirmed readers are marked. Confirmed readers get the newsletter on another stream,
        which may still accept their addresses.
        """
        mailable = [Subscriber.State.PENDING]
        if kind == Edition.Kind.NEWSLETTER:
            mailable.append(Subscriber.State.CONFIRMED)
        readers = Subscriber.objects.filter(id__in=recipients, state__in=mailable)
        # Rows are locked in id order to prevent deadlocks between two batches.
        refused = list(readers.select_for_update().order_by("id").values_list("id", flat=True))
        Subscriber.objects.filter(id__in=refused).update(state=Subscriber.State.BOUNCED)
        for reader in refused:
            record_consent(reader, Act.BOUNCED, How.PROVIDER, detail=REFUSED_ON_SENDING)

    def mark_inactive(self, recipients: Sequence[int], kind: str, version: int) -> None:
        """Ask the provider to lift its suppressions of readers who requested this mail.

        If an author, a program or an import caused the mail, do not ask the provider.
        """
        if kind not in REQUESTED_BY:
            return
        asked = ConsentRecord.objects.filter(REQUESTED_BY[kind], request=version)
        readers = asked.filter(subscriber__in=recipients).values_list("subscriber", flat=True)
        request_lifting(kind, version, list(readers))

    def reader_at(self, address: str) -> int | None:
        """Return the id of the reader with this address, ignoring case."""
        readers = Subscriber.objects.filter(email_key=address.lower())
        return readers.values_list("id", flat=True).first()

    def address_of(self, recipient: int) -> str | None:
        """Return the address of this reader; None if no reader has this id."""
        readers = Subscriber.objects.filter(pk=recipient)
        return readers.values_list("email", flat=True).first()

    def is_erased(self, address: str) -> bool:
        """Return whether a reader with this address was erased."""
        return bool(erased_among([address]))

    def unsubscribe_urls(self, recipients: Sequence[int]) -> list[str]:
        """Return each reader's absolute one-click unsubscribe URL, which never redirects."""
        # reverse() is too slow to call for every delivery. A test checks that reverse() gives the
        # same URL.
        base_url = f"{settings.SITE_URL}/unsubscribe/"
        return [f"{base_url}{token}/" for token in tokens_for(recipients)]

    def preferences_urls(self, recipients: Sequence[int]) -> list[str]:
        """Return the absolute URL of each reader's page to choose topics."""
        base_url = f"{settings.SITE_URL}/preferences/"
        return [f"{base_url}{token}/" for token in tokens_for(recipients, PREFERENCES)]

    def mail_link(self, kind: str, recipient: int, version: int) -> str:
        """Return the link of a transactional mail: to confirm, or to see personal data."""
        token = request_token.token_for(kind, Request(recipient, version))
        if kind == Edition.Kind.CONFIRMATION:
            return f"{settings.SITE_URL}/subscriptions/confirm/?subscription_token={token}"
        return f"{settings.SITE_URL}/record/{token}/"
