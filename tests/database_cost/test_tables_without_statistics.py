"""Audiences are read without nested loops, even from tables without statistics.

After a restored dump or the first import, tables have no statistics, and PostgreSQL expects few
rows in them. A nested loop over readers and suppressions takes time that grows with the product of
their numbers.
"""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from delivery.models import Edition
from delivery.reconcile import database_identity
from delivery.rules.scheduled_time import ScheduledTime
from newsletter_site.register_hooks_and_tasks import register_hooks
from publishing.content.edition_content import Content
from publishing.editions.audience import EVERYONE, REACHED, UNREACHED
from publishing.editions.start_scheduled import start_now
from publishing.editions.versions import plan_version
from tests.database_cost.test_query_plans import explained, kinds, run
from tests.delivery.edition_factory import Newsroom
from tests.publishing.publish_with import publish

READERS, SUPPRESSED = 3_000, 1_500
TABLES = ["delivery", "subscriber", "suppression"]
SENT_TO_ALL = """
    UPDATE delivery SET outcome = 'sent', sent_at = now(), evidence = 'reply',
                        provider_message_id = recipient_id::text;
    UPDATE batch SET state = 'done', waiting = 0, sent = size
"""


@pytest.fixture(autouse=True)
def sent_issue(newsroom: Newsroom) -> Edition:
    """Publish and send an issue to all readers, then suppress half of them."""
    register_hooks()
    for table in TABLES:
        run(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    edition = newsroom.publish(readers=READERS)
    run(SENT_TO_ALL)
    run(
        "INSERT INTO suppression (address_key, reason, origin) SELECT email_key, 'bounce', "
        f"'provider' FROM subscriber ORDER BY id LIMIT {SUPPRESSED}"
    )
    assert analysed() == []
    return edition


def analysed() -> list[str]:
    """Return the tables that have statistics."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname = ANY(%s) AND reltuples >= 0 ORDER BY 1",
            [TABLES],
        )
        return [name for (name,) in cursor]


def correct(edition: Edition, goes_to: str, at: ScheduledTime | None = None) -> Edition:
    return publish(
        edition.author_id,
        uuid.uuid4().hex,
        Content.from_input(title="Corrected", html="<p>Words</p>"),
        hold_s=0,
        issue=edition.issue_id,
        version=2,
        goes_to=goes_to,
        at=at,
    ).edition


def to_everyone(edition: Edition) -> None:
    assert correct(edition, EVERYONE).audience == READERS - SUPPRESSED


def to_reached_readers(edition: Edition) -> None:
    assert correct(edition, REACHED).audience == READERS - SUPPRESSED


def to_unreached_readers(edition: Edition) -> None:
    assert correct(edition, UNREACHED).audience == 0


def at_its_time(edition: Edition) -> None:
    at = ScheduledTime(datetime(2100, 1, 1, tzinfo=UTC), "2100-01-01T00:00", "UTC")
    assert start_now(correct(edition, REACHED, at).pk) == READERS - SUPPRESSED


def counted(edition: Edition) -> None:
    place = plan_version(edition.issue_id)
    assert place is not None
    assert place.everyone == place.reached == READERS - SUPPRESSED


@pytest.mark.parametrize(
    "act", [to_everyone, to_reached_readers, to_unreached_readers, at_its_time, counted]
)
def test_no_audience_is_read_by_a_nested_loop(
    sent_issue: Edition, act: Callable[[Edition], None]
) -> None:
    with explained({"suppression"}) as sent:
        act(sent_issue)
    assert sent.plans
    assert [sql for sql, plan in sent.plans if "Nested Loop" in kinds(plan)] == []


def test_publishing_restores_the_planner_settings(sent_issue: Edition) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        to_everyone(sent_issue)
        cursor.execute("SHOW enable_nestloop")
        assert cursor.fetchone() == ("on",)


def test_the_list_is_analysed_after_an_import(tmp_path: Path) -> None:
    file = tmp_path / "readers.csv"
    file.write_text("email\nada@posthouse.example.org\n")
    call_command("import_subscribers", str(file), "--confirmed", "--consent", "On paper.")
    assert analysed() == ["subscriber", "suppression"]


def test_a_restored_database_is_analysed() -> None:
    database_identity.check_identity()
    run("UPDATE database_identity SET system_identifier = '1'")
    assert database_identity.check_identity().is_another
    assert analysed() == TABLES
