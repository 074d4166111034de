"""One round of reconciling one issue on one stream with the provider's record.

Copies that the provider has are recorded. An alarm is raised about each copy that only our record
has. Nothing is resent; only a check mail, which reaches nobody, may be sent.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, OperationalError
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery import log_context
from delivery.humanise import counted, digits, duration
from delivery.mail.transactional_mail_texts import provider_tag
from delivery.models import Edition
from delivery.provider.from_settings import capabilities, provider_name
from delivery.provider.provider_protocol import ATTEMPT_FIELD, CHECK_FIELD, DELIVERY_FIELD
from delivery.reconcile import record_findings
from delivery.reconcile.record_findings import EditionRecord
from delivery.reconcile.walk_provider_record import PatientSearch
from delivery.rules.call_results import FoundMessage
from delivery.rules.delivery_key import DeliveryKey, read

logger = logging.getLogger(__name__)

# At most this many deliveries are looked up individually in a round. The next round continues.
MAX_SINGLE_LOOKUPS = 5_000
# Recipient ids are close together, so a chunk of bits is created only where an id was seen.
CHUNK_BITS = 4096


class RecipientSet:
    """A set of recipients as bits, so that a million recipients need little memory."""

    def __init__(self) -> None:
        self._chunks: dict[int, int] = defaultdict(int)

    def add(self, recipient: int) -> bool:
        """Add a recipient; return False if the set already had this recipient."""
        is_new = recipient not in self
        chunk, bit = divmod(recipient, CHUNK_BITS)
        self._chunks[chunk] |= 1 << bit
        return is_new

    def __contains__(self, recipient: int) -> bool:
        chunk, bit = divmod(recipient, CHUNK_BITS)
        return bool(self._chunks.get(chunk, 0) >> bit & 1)


@dataclass(frozen=True, slots=True)
class SearchCoverage:
    """The mail that the provider's search shows on a walk that began at `walked_at`.

    Mail accepted before `since` is no longer kept, and mail accepted after `until` may not be
    indexed yet. If the search does not show the mail accepted last, `shows_later_mail` is false,
    and the search covers only mail that is older than the newest mail shown. Times are by the
    database's clock.
    """

    walked_at: datetime
    last_lookup_after_s: float
    retention_days: int
    shows_later_mail: bool
    last_accepted_at: datetime | None
    newest_shown_at: datetime | None

    @property
    def since(self) -> datetime:
        # This is one day less than the provider keeps mail, because the provider's days may begin
        # at another hour.
        return self.walked_at - timedelta(days=self.retention_days - 1)

    @property
    def until(self) -> datetime:
        return self.walked_at - timedelta(seconds=self.last_lookup_after_s)

    def counts_for(self, sent_at: datetime) -> bool:
        """Whether the search would show a message accepted at `sent_at`."""
        if not self.since <= sent_at <= self.until:
            return False
        if self.shows_later_mail or self.last_accepted_at is None:
            return True
        if sent_at >= self.last_accepted_at:
            return True
        return self.newest_shown_at is not None and sent_at < self.newest_shown_at

    def is_too_early_for(self, sent_at: datetime) -> bool:
        """Whether only a later walk can judge a message accepted at `sent_at`."""
        return sent_at >= self.since and not self.counts_for(sent_at)


class Obstacle(Enum):
    """The reasons why an edition cannot be reconciled yet."""

    COUNTS_DO_NOT_BALANCE = auto()
    FORGOTTEN_BY_PROVIDER = auto()
    TOO_EARLY = auto()
    SEARCH_LAGS = auto()
    SEARCH_INCOMPLETE = auto()

    def sentence(self, issue: UUID, reconcilable_at: datetime) -> str:
        """Write why an edition of this issue is not reconciled, and what to do."""
        at = f"{reconcilable_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
        can = capabilities()
        return str(_SENTENCES[self]).format(
            issue=issue,
            time=at,
            provider=can.name,
            setting=can.remembers_setting or duration(86_400 * can.remembers_days),
        )

    @property
    def is_worth_waiting_for(self) -> bool:
        """Whether this obstacle may be gone at a later walk."""
        return self not in {Obstacle.COUNTS_DO_NOT_BALANCE, Obstacle.FORGOTTEN_BY_PROVIDER}


_SENTENCES: Mapping[Obstacle, Promise] = {
    Obstacle.COUNTS_DO_NOT_BALANCE: gettext_lazy(
        "The counts do not balance, so {provider}'s results could not be recorded. Run "
        "`./homing audit {issue}`, and reconcile again once the counts balance."
    ),
    Obstacle.FORGOTTEN_BY_PROVIDER: gettext_lazy(
        "Copies may have been sent so long ago that {provider} no longer has a record of them "
        "({setting}). Nobody can know who received them. Cancel the edition."
    ),
    Obstacle.TOO_EARLY: gettext_lazy(
        "{provider}'s search may not show the latest mail yet. Its results are reliable from "
        "{time} UTC."
    ),
    Obstacle.SEARCH_LAGS: gettext_lazy(
        "{provider}'s search does not show mail that is recorded as accepted. The search lags, or "
        "the settings name another account or server."
    ),
    Obstacle.SEARCH_INCOMPLETE: gettext_lazy(
        "{provider}'s search showed fewer messages than it counts. Run the command again. If that "
        "does not help, cancel the edition."
    ),
}


def find_obstacle(
    coverage: SearchCoverage,
    *,
    was_all_shown: bool,
    reconcilable_at: datetime,
    backup_not_before: datetime,
) -> Obstacle | None:
    """Find why a walk of this coverage cannot reconcile an edition; None if it can.

    Mail that the restored record lacks was accepted after `backup_not_before`.
    """
    if backup_not_before < coverage.since:
        return Obstacle.FORGOTTEN_BY_PROVIDER
    if coverage.walked_at < reconcilable_at:
        return Obstacle.TOO_EARLY
    if not coverage.shows_later_mail:
        return Obstacle.SEARCH_LAGS
    return None if was_all_shown else Obstacle.SEARCH_INCOMPLETE


@dataclass(slots=True)
class RoundReport:
    """What one round found about an issue; `first` is one of the issue's editions.

    `obstacles` has the obstacle of each edition, by the edition's id. `unknown` counts messages of
    versions that are not in this database. `too_fresh` counts messages that can be judged only by a
    walk that begins at `again_at` or later.
    """

    first: EditionRecord
    found: int = 0
    recorded: int = 0
    without_delivery: int = 0
    missing: int = 0
    too_fresh: int = 0
    again_at: datetime | None = None
    not_looked_up: int = 0
    quarantined: int = 0
    twice: int = 0
    reconciled: int = 0
    obstacles: dict[int, tuple[EditionRecord, Obstacle, datetime]] = field(default_factory=dict)
    unknown: Counter[int] = field(default_factory=Counter)


class ReconcileRound:
    """A round that reconciles the editions of one issue on one stream."""

    def __init__(
        self,
        editions: Sequence[EditionRecord],
        search: PatientSearch,
        *,
        start_sent: Callable[[int], bool],
        report_progress: Callable[[str], None],
    ) -> None:
        self._editions = {walked.version: walked for walked in editions}
        self._issue, self._stream = editions[0].issue, editions[0].stream
        self._search = search
        self._start_sent = start_sent
        self._last_lookup_after_s = settings.DELIVERY_LOOKUP_AFTER_S[-1]
        self._report_progress = report_progress
        self._seen: dict[int, RecipientSet] = defaultdict(RecipientSet)
        self._others: set[str] = set()
        self._shown = self._total = self._asked = 0
        self._newest: datetime | None = None
        self._walked_at = record_findings.database_time()
        self.report = RoundReport(editions[0])

    def run(self) -> RoundReport:
        """Run the round. Raises `SearchUnavailableError` if the provider cannot be asked."""
        # Before the walk, search for the mail that was accepted last. If the search already shows
        # that mail, the walk will also show all earlier mail.
        last = record_findings.find_last_accepted(self._stream)
        shows_later_mail = last is None or bool(self._search.about(ATTEMPT_FIELD, last[0].hex))
        shows_later_mail &= self._shows_mail_after_the_restore()
        self._walk()
        # The versions are read after the walk, because a version may be published meanwhile.
        versions = Edition.objects.filter(issue_id=self._issue).values_list("version", flat=True)
        for version in versions:
            del self.report.unknown[version]
        self._coverage = SearchCoverage(
            self._walked_at,
            last_lookup_after_s=self._last_lookup_after_s,
            retention_days=capabilities().remembers_days,
            shows_later_mail=shows_later_mail,
            last_accepted_at=last[1] if last else None,
            newest_shown_at=self._newest,
        )
        for walked in self._editions.values():
            self._do_for(walked, self._settle)
            self.report.twice += record_findings.second_acceptances(walked).count()
        return self.report

    def _shows_mail_after_the_restore(self) -> bool:
        """Whether the search shows mail accepted after the restore.

        The last accepted mail on record may be older than the backup, and then proves nothing about
        mail that was accepted after the backup. So this method searches for mail that is later than
        all calls before the restore. If there is no such mail, the method sends a check mail.
        """
        open_since = [
            walked.unreconciled_since
            for walked in self._editions.values()
            if walked.unreconciled_since is not None
        ]
        if not open_since:
            return True
        calls_end_at = max(open_since) + timedelta(seconds=settings.DELIVERY_HTTP_DEADLINE_S)
        if self._walked_at <= calls_end_at:
            return True  # It is too early to reconcile, whatever the search shows.
        later = record_findings.find_accepted_after(self._stream, calls_end_at)
        if later is None:
            edition = next(iter(self._editions.values())).edition
            sent = self._search.send_check_mail(edition, self._walked_at)
            later = None if sent is None else (sent, True)
        if later is None:
            return False
        attempt, is_check_mail = later
        field_name = CHECK_FIELD if is_check_mail else ATTEMPT_FIELD
        return bool(self._search.about(field_name, attempt.hex))

    def _settle(self, walked: EditionRecord) -> None:
        self.report.quarantined += record_findings.quarantine_bare_marks(walked)
        self._look_up_missing(walked)
        if walked.unreconciled_since is not None:
            self._end(walked, walked.unreconciled_since)

    def _do_for(self, walked: EditionRecord, do: Callable[..., None], *what: object) -> bool:
        """Call `do` for an edition; return False if the database refuses the edition.

        The database refuses an edition whose counts do not balance, and then the round leaves this
        edition out.
        """
        if walked.edition in self.report.obstacles:
            return False
        log_context.bind(version=walked.version)
        try:
            do(walked, *what)
        except OperationalError:
            raise
        except DatabaseError as error:
            # The error's message is not logged, because it may contain a row.
            logger.error(
                "the counts of edition %d do not balance; the database reported %s",
                walked.edition,
                type(error).__name__,
            )
            obstacle = Obstacle.COUNTS_DO_NOT_BALANCE
            self.report.obstacles[walked.edition] = walked, obstacle, self._walked_at
            return False
        return True

    def _walk(self) -> None:
        first = min(walked.published_at for walked in self._editions.values())
        for messages, total in self._search.walk(provider_tag(self._issue), first, self._walked_at):
            self._total = total
            by_version: dict[int, list[tuple[int, FoundMessage]]] = defaultdict(list)
            for listed in messages:
                key = read(listed.delivery)
                # A search may compare values in another way than Homing, so each result is
                # compared again.
                if key is None or key.issue != self._issue or key.version not in self._editions:
                    is_new = self._count_other(listed)
                    if key is not None and key.issue == self._issue:
                        self.report.unknown[key.version] += is_new
                else:
                    by_version[key.version].append((key.recipient, listed))
                if listed.at is not None and (self._newest is None or listed.at > self._newest):
                    self._newest = listed.at
            for version, found in by_version.items():
                if not self._do_for(self._editions[version], self._record, found):
                    for recipient, listed in found:
                        if recipient not in self._seen[version]:
                            self._count_other(listed)
            self._report_progress(
                _("Read {shown} of {total} messages from {provider}.").format(
                    shown=digits(self._shown), total=digits(total), provider=provider_name()
                )
            )

    def _record(self, walked: EditionRecord, found: Sequence[tuple[int, FoundMessage]]) -> None:
        recipients = [recipient for recipient, _ in found]
        if walked.is_scheduled and self._start_sent(walked.edition):
            # The edition was sent after the backup was taken. The call above enqueued the edition's
            # audience, so the findings can be settled.
            logger.critical("edition %d was sent before the restore", walked.edition)
        recorded = record_findings.load_recorded(walked, recipients)
        news = [
            (recipient, listed)
            for recipient, listed in found
            if recipient in recorded and recorded[recipient] != ("sent", listed.message_id)
        ]
        if news:
            self.report.recorded += record_findings.settle_found(walked, news)
            recorded = record_findings.load_recorded(walked, recipients)
        for recipient, listed in found:
            row = recorded.get(recipient)
            if row is None:
                self.report.without_delivery += self._count_other(listed)
            elif row != ("sent", listed.message_id):
                self.report.found += self._count_other(listed)
            elif listed.message_id not in self._others:
                is_new = self._seen[walked.version].add(recipient)
                self._shown += is_new
                self.report.found += is_new

    def _count_other(self, listed: FoundMessage) -> bool:
        """Count, once per id, a message that our record lacks or has with other values."""
        if listed.message_id in self._others:
            return False
        self._others.add(listed.message_id)
        self._shown += 1
        return True

    def _look_up_missing(self, walked: EditionRecord) -> None:
        coverage = self._coverage
        for chunk in record_findings.iter_recipients(walked, "sent"):
            unseen = [each for each in chunk if each[0] not in self._seen[walked.version]]
            self._count_too_fresh([at for _, at in unseen if coverage.is_too_early_for(at)])
            candidates = [recipient for recipient, at in unseen if coverage.counts_for(at)]
            if not candidates:
                continue
            keys = {recipient: self._key(walked, recipient) for recipient in candidates}
            alarmed = record_findings.load_alarmed(walked, list(keys.values()))
            for recipient, key in keys.items():
                if key in alarmed:
                    self.report.missing += 1
                elif self._asked >= MAX_SINGLE_LOOKUPS:
                    self.report.not_looked_up += 1
                elif not self._look_up(walked, recipient):
                    self.report.missing += 1
                    record_findings.raise_not_at_provider_alarm(walked, key, recipient)

    def _count_too_fresh(self, sent_at: Sequence[datetime]) -> None:
        # While the search lags, the time since the call proves nothing, so the wait starts now.
        begins = [at if at > self._coverage.until else self._walked_at for at in sent_at]
        judged_at = [at + timedelta(seconds=self._last_lookup_after_s) for at in begins]
        self.report.too_fresh += len(sent_at)
        self.report.again_at = max(filter(None, [self.report.again_at, *judged_at]), default=None)

    def _look_up_open(self, walked: EditionRecord) -> bool:
        """Look up each open delivery; return False if there are too many."""
        ended = ("withdrawn",) if walked.has_ended else ()
        for chunk in record_findings.iter_recipients(walked, "waiting", "unknown", *ended):
            for recipient, __ in chunk:
                if self._asked >= MAX_SINGLE_LOOKUPS:
                    return False
                self._look_up(walked, recipient)
        return True

    def _look_up(self, walked: EditionRecord, recipient: int) -> bool:
        self._asked += 1
        if self._asked % 50 == 0:
            self._report_progress(
                counted(
                    "Looked up {n} copy individually.",
                    "Looked up {n} copies individually.",
                    self._asked,
                )
            )
        shown = self._search.about(DELIVERY_FIELD, self._key(walked, recipient))
        found = [(recipient, one) for one in shown]
        if found:
            self._record(walked, found)
        return bool(found)

    @staticmethod
    def _key(walked: EditionRecord, recipient: int) -> str:
        return str(DeliveryKey(walked.issue, walked.version, recipient))

    def _end(self, walked: EditionRecord, unreconciled_since: datetime) -> None:
        coverage = self._coverage
        # By this time the edition's calls have ended, and the provider's search shows their
        # messages.
        wait_s = settings.DELIVERY_HTTP_DEADLINE_S + self._last_lookup_after_s
        at = unreconciled_since + timedelta(seconds=wait_s)
        was_all_shown = self._shown >= self._total or self._look_up_open(walked)
        # An ended edition sends no more copies, so unknown results may stay unknown.
        obstacle = find_obstacle(
            coverage,
            was_all_shown=was_all_shown or walked.has_ended,
            reconcilable_at=at,
            backup_not_before=coverage.since if walked.has_ended else walked.backup_not_before,
        )
        if obstacle is not None:
            self.report.obstacles[walked.edition] = walked, obstacle, at
        elif record_findings.end_reconciliation(walked):
            self.report.reconciled += 1
