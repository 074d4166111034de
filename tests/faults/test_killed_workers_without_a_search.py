"""Workers are killed and cut off; a provider without a search gets no second copy."""

from collections import Counter
from typing import Any

from delivery.models import Delivery
from delivery.queue.edition_control import resend_unknown
from delivery.queue.record_evidence import treat_as_sent
from tests.delivery.django_mail.amazon_server import AmazonServer
from tests.delivery.django_mail.smtp_server import CUT, SmtpServer
from tests.faults.delivery_stack import Stage

READERS, BATCH, CALLS = 5_000, 20, 4
KILLED_AT = (700, 1_900, 3_100)
CUT_READERS = {"reader4000@example.net", "reader4500@example.net"}
# `deliver --until-empty` ends with this code if a copy waits for a decision.
NEEDS_DECISION = 3


def kill_three_workers(
    stage: Stage, server: AmazonServer | SmtpServer, **variables: str
) -> tuple[Any, dict[str, str]]:
    """Publish, kill three workers in their calls, and let a fourth end."""
    edition = stage.newsroom.publish(readers=READERS, batch_size=BATCH)
    variables |= {"DELIVERY_PROCESSES": "1", "DELIVERY_CONCURRENCY": str(CALLS)}
    for accepted in KILLED_AT:
        worker = stage.worker("--until-empty", **variables)
        server.wait_until_accepted(accepted)
        worker.kill()
    assert stage.worker("--until-empty", **variables).end() == NEEDS_DECISION
    return edition, variables


def check_that_doubts_are_few(edition: Any, copies: Counter[str]) -> set[str]:
    """Check that all got one copy or are unknown; return the unknown."""
    assert max(copies.values()) == 1
    outcomes = dict(
        Delivery.objects.filter(issue=edition.issue_id).values_list("address", "outcome")
    )
    unknown = {address for address, outcome in outcomes.items() if outcome == "unknown"}
    assert len(outcomes) == READERS
    assert set(outcomes.values()) == {"sent", "unknown"}
    assert unknown >= CUT_READERS
    # Every copy that did not leave is shown, and no more than the calls in flight hold.
    assert set(outcomes) - set(copies) <= unknown
    assert len(unknown) <= len(KILLED_AT) * CALLS * BATCH + len(CUT_READERS)
    return unknown


def test_over_smtp_copies_are_counted_as_sent(stage: Stage, settings: Any) -> None:
    with SmtpServer() as server:
        settings.MAIL_PROVIDER, settings.EMAIL_HOST = "django", "127.0.0.1"
        server.answers = {("DATA", address): CUT for address in CUT_READERS}
        edition, variables = kill_three_workers(
            stage, server, MAIL_PROVIDER="django", EMAIL_URL=f"smtp://127.0.0.1:{server.port}"
        )
        copies = Counter(server.recipients)
        unknown = check_that_doubts_are_few(edition, copies)
        assert treat_as_sent(edition.pk) == len(unknown)
        assert stage.newsroom.counts(edition).sent == READERS
        assert stage.worker("--until-empty", **variables).end() == 0
        assert Counter(server.recipients) == copies


def test_through_amazon_copies_are_resent_on_request(stage: Stage, settings: Any) -> None:
    with AmazonServer(sender="letter@example.org") as server:
        settings.MAIL_PROVIDER, settings.ANYMAIL_ESP = "django", "amazon_ses"
        server.cut = CUT_READERS
        edition, variables = kill_three_workers(stage, server, **server.variables())
        copies = Counter(server.recipients)
        unknown = check_that_doubts_are_few(edition, copies)
        server.cut = set()
        assert resend_unknown(edition.pk) == len(unknown)
        assert stage.worker("--until-empty", **variables).end() == 0
        assert stage.newsroom.counts(edition).sent == READERS
        # Each unconfirmed copy was sent once more, as the author decided, and no other one.
        assert Counter(server.recipients) == copies + Counter(unknown)
