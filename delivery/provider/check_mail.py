"""Send a check mail, which reaches nobody, to test the provider's search.

An empty search for a message proves nothing until the search shows mail that was accepted later on
the same stream. If there is no later mail, Homing sends a check mail
(docs/decisions/0046-check-mail.md).
"""

import logging
import uuid
from datetime import datetime

from django.db import connection

from delivery.models import Attempt, Edition, Newsletter
from delivery.models.attempt import NO_BATCH
from delivery.provider.provider_protocol import Provider
from delivery.rules.call_results import AllAccepted, Answered
from delivery.rules.outcomes import Sent

logger = logging.getLogger(__name__)


def send_check_mail(
    provider: Provider, edition_id: int, *, now: datetime, epoch: int = 0, deadline_at_s: float
) -> uuid.UUID | None:
    """Send a check mail on the edition's stream; return its attempt.

    Returns None if the mail is not accepted, or the provider has no such mail. `now` is the
    database's time, read before the call. The attempt is recorded only after its acceptance. A lost
    record does no harm, because a check mail reaches nobody.
    """
    edition = Edition.objects.only("stream", "sender").get(pk=edition_id)
    attempt = uuid.uuid4()
    sender = edition.sender or Newsletter.objects.get_current().sender
    mail = provider.check_mail(sender, edition.stream, attempt.hex)
    if mail is None:
        return None
    result = provider.send(mail.body, [mail.address], deadline_at_s=deadline_at_s)
    # An acceptance may lack its ErrorCode.
    if not isinstance(result, AllAccepted | Answered) or not all(
        isinstance(message, Sent) for message in result.messages
    ):
        logger.warning("the check mail on stream %s was not accepted: %s", edition.stream, result)
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO attempt (id, batch_id, edition_id, stream, epoch, worker, messages,
                                 started_at, deadline_at, finished_at, result, detail, accepted)
            SELECT %(id)s, %(no_batch)s, id, stream, %(epoch)s, %(id)s, 1, %(now)s,
                   clock_timestamp(), clock_timestamp(), %(result)s, '', 1
            FROM edition WHERE id = %(edition)s
            """,
            {
                "id": attempt,
                "no_batch": NO_BATCH,
                "edition": edition_id,
                "epoch": epoch,
                "now": now,
                "result": Attempt.Result.ANSWERED,
            },
        )
    logger.info("sent check mail %s on stream %s", attempt.hex, edition.stream)
    return attempt
