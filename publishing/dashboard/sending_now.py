"""List the editions on the desk that are held or being sent."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from delivery.mail.transactional_mail_texts import edition_name
from delivery.rules.edition_state import EditionState
from publishing.content.edition_content import Content
from publishing.editions.edition_status import EditionStatus
from publishing.progress.edition_progress import EditionProgress
from publishing.progress.progress_sentences import held_sentence, what_is_stuck

# Editions in these states need no decision. All other open editions wait for a decision.
NEEDS_NOBODY = frozenset({EditionState.HELD, EditionState.SENDING})


@dataclass(frozen=True, slots=True)
class Sending:
    """An edition that is held or being sent.

    `sentence` says until when the edition is held, or what is stuck. While the edition is being
    sent and nothing is stuck, `sentence` is empty.
    """

    progress: EditionProgress
    title: str
    sentence: str

    @property
    def done_at(self) -> datetime | None:
        """The time at which the last copy will be sent, at the current rate."""
        status = self.progress.status
        return None if status.eta_s is None else status.counts.now + timedelta(seconds=status.eta_s)


def sending_now(statuses: Sequence[EditionStatus], zone: ZoneInfo) -> list[Sending]:
    """Return the editions that are held or being sent, oldest first."""
    return [
        Sending(
            EditionProgress(status),
            title_of(status),
            held_sentence(status.counts, zone)
            if status.state is EditionState.HELD
            else what_is_stuck(status, zone),
        )
        for status in statuses
        if status.state in NEEDS_NOBODY
    ]


def title_of(status: EditionStatus) -> str:
    """Return the edition's title as pages show it, or the name of transactional mail."""
    if status.counts.is_transactional:
        return edition_name(status.counts.kind, status.counts.version)
    return Content(title=status.counts.title).plain_title


def page_contents(sending: Sequence[Sending], *, needs: int) -> str:
    """Return a text that changes if the editions or the number of decisions change."""
    return " ".join([*(str(one.progress.counts.edition) for one in sending), f"needs-{needs}"])
