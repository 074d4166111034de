"""Workers that send over SMTP are killed and cut off; no reader gets two copies."""

from collections import Counter
from typing import Any

from delivery.models import Delivery
from delivery.queue.record_evidence import treat_as_sent
from tests.delivery.django_mail.smtp_server import CUT, SmtpServer
from tests.faults.delivery_stack import Stage

READERS, BATCH, CALLS = 5_000, 20, 4
KILLED_AT = (700, 1_900, 3_100)
CUT_READERS = (4_000, 4_500)
# `deliver --until-empty` ends with this code if a copy waits for a decision.
NEEDS_DECISION = 3


def test_killed_and_cut_off_workers_send_no_second_copy(stage: Stage, settings: Any) -> None:
    with SmtpServer() as server:
        settings.MAIL_PROVIDER, settings.EMAIL_HOST = "django", "127.0.0.1"
        edition = stage.newsroom.publish(readers=READERS, batch_size=BATCH)
        over_smtp = {
            "MAIL_PROVIDER": "django",
            "EMAIL_URL": f"smtp://127.0.0.1:{server.port}",
            "DELIVERY_PROCESSES": "1",
            "DELIVERY_CONCURRENCY": str(CALLS),
        }
        server.answers = {("DATA", f"reader{n}@example.net"): CUT for n in CUT_READERS}
        for accepted in KILLED_AT:
            worker = stage.worker("--until-empty", **over_smtp)
            server.wait_until_accepted(accepted)
            worker.kill()
        assert stage.worker("--until-empty", **over_smtp).end() == NEEDS_DECISION

        copies = Counter(server.recipients)
        assert max(copies.values()) == 1
        outcomes = dict(
            Delivery.objects.filter(issue=edition.issue_id).values_list("address", "outcome")
        )
        unknown = {address for address, outcome in outcomes.items() if outcome == "unknown"}
        assert len(outcomes) == READERS
        assert set(outcomes.values()) == {"sent", "unknown"}
        assert {f"reader{n}@example.net" for n in CUT_READERS} <= unknown
        # Every copy that did not leave is shown, and no more than the calls in flight hold.
        assert set(outcomes) - set(copies) <= unknown
        assert len(unknown) <= len(KILLED_AT) * CALLS * BATCH + len(CUT_READERS)

        assert treat_as_sent(edition.pk) == len(unknown)
        assert stage.newsroom.counts(edition).sent == READERS
        assert stage.worker("--until-empty", **over_smtp).end() == 0
        assert Counter(server.recipients) == copies
