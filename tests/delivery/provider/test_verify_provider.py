"""The command verify_provider finds each broken assumption, and changes nothing."""

import io
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from delivery.feedback import event_inbox
from delivery.mail.mark_test_letter import TEST_ISSUE
from delivery.models import ProviderEvent
from delivery.provider.verify_assumptions import Seen, judge_bad_address, judge_headers
from delivery.rules.call_results import Answered, TooLarge
from delivery.rules.outcomes import Failed, Sent
from delivery.rules.reason import Reason, ReasonCode
from postmark_sandbox.rules.magic_addresses import SPAM_COMPLAINT
from postmark_sandbox.server import SandboxServer
from tests.delivery.django_mail import anymail_accounts
from tests.delivery.django_mail.conftest import django_mail, server
from tests.delivery.django_mail.smtp_server import SmtpServer
from tests.delivery.edition_factory import Newsroom
from tests.delivery.http_responses import answering, http
from tests.delivery.provider.pigeon_post import Loft
from tests.delivery.scripted_http_server import Conversation, ScriptedServer
from tests.delivery.webhook_events import PASSWORD, USER, WebSite
from tests.faults.wait_until import eventually

__all__ = ["django_mail", "server"]
ADA = "reader0@example.net"
TABLES = ("subscriber", "edition", "batch", "delivery", "attempt", "evidence", "alarm")
REFUSED = Reason.of(ReasonCode.PROVIDER_ERROR, error_code=300, text="Invalid 'To' address.")


@pytest.fixture(autouse=True)
def webhooks_have_a_password(settings: Any) -> None:
    settings.POSTMARK_WEBHOOK_USER, settings.POSTMARK_WEBHOOK_PASSWORD = USER, PASSWORD


@pytest.fixture
def site(newsroom: Newsroom, settings: Any) -> Iterator[WebSite]:
    settings.SECURE_SSL_REDIRECT = False
    with WebSite() as site:
        yield site


@pytest.fixture
def reporting(site: WebSite, settings: Any) -> Iterator[SandboxServer]:
    """Start a sandbox that posts its events to the real site."""
    with SandboxServer(webhook_url=site.webhook_url) as provider:
        settings.POSTMARK_BASE_URL = provider.url
        yield provider


def verify(*options: str, wait: int = 20) -> tuple[int, str]:
    """Run the command; return its exit code and its output."""
    out = io.StringIO()
    try:
        call_command("verify_provider", "--wait", str(wait), *options, stdout=out)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue()
    return 0, out.getvalue()


def verdicts(output: str) -> dict[str, str]:
    return {row["assumption"]: row["verdict"] for row in json.loads(output)}


def observed(output: str, assumption: str) -> str:
    rows = {row["assumption"]: str(row["observed"]) for row in json.loads(output)}
    return rows[assumption]


def failing(output: str) -> list[str]:
    return [name for name, verdict in verdicts(output).items() if verdict == "fails"]


def await_events(kind: str, count: int) -> None:
    events = ProviderEvent.objects.filter(kind=kind)
    eventually(lambda: events.count() == count, f"{count} of {kind}")


def apply_all() -> None:
    """Apply the events, or wait until the site has applied those that it holds."""

    def is_applied() -> bool:
        event_inbox.apply_pending()
        return not ProviderEvent.objects.filter(applied_at=None).exists()

    eventually(is_applied, "all events are applied")


def snapshot() -> dict[str, list[Any]]:
    rows = {}
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT t::text FROM {table} AS t ORDER BY 1")
            rows[table] = cursor.fetchall()
    return rows


def test_all_assumptions_hold_at_the_sandbox(reporting: SandboxServer) -> None:
    code, output = verify("--to", ADA)
    assert code == 0
    lines = output.splitlines()
    assert [line.split()[-1] for line in lines] == ["Verdict", *["holds"] * 8, "relevant"]
    assert "3 of 3 delivered" in output
    assert "Message-ID, List-Unsubscribe, List-Unsubscribe-Post" in output
    counts = reporting.sandbox.summary()
    assert (counts["accepted"], counts["dropped"]) == (5, 1)


def test_no_reader_delivery_alarm_or_edition_changes(
    reporting: SandboxServer, newsroom: Newsroom
) -> None:
    newsroom.publish(readers=2)
    newsroom.deliver_all()
    await_events("Delivery", 2)
    apply_all()
    before = snapshot()
    assert len(before["delivery"]) == 2
    assert verify("--to", ADA)[0] == 0
    # The reader even complains about a mail of the command, and Postmark suppresses the address.
    sandbox = reporting.sandbox
    message = sandbox.outbox.message(2)
    assert (message.recipients, message.metadata["delivery"][:8]) == ([ADA], TEST_ISSUE.hex[:8])
    # Events of the provider's lists have no metadata, only the tag.
    assert message.tag == f"issue-{TEST_ISSUE.hex}"
    sandbox.events.bounce(message, ADA, SPAM_COMPLAINT)
    await_events("SubscriptionChange", 1)
    await_events("SpamComplaint", 1)
    apply_all()
    assert snapshot() == before


def test_the_default_address_reaches_nobody(newsroom: Newsroom) -> None:
    code, output = verify("--json")
    assert (code, failing(output)) == (0, [])
    assert verdicts(output)["events"] == "not relevant"
    to = {
        address
        for one in map(newsroom.sandbox.outbox.message, range(6))
        for address in one.recipients
    }
    assert to == {"test@blackhole.postmarkapp.com"}


def test_swapped_ids_fail_the_order(newsroom: Newsroom) -> None:
    newsroom.sandbox.set_fault("accept_then_swap_ids")
    code, output = verify("--json")
    assert code == 1
    assert failing(output) == ["order", "headers"]


def test_a_search_that_lags_longer_than_the_wait_fails(newsroom: Newsroom) -> None:
    newsroom.sandbox.set_fault("search_delay", seconds=60)
    code, output = verify("--json", wait=1)
    assert code == 1
    assert failing(output) == ["order", "by_attempt", "by_delivery", "headers", "check_mail"]
    assert observed(output, "by_attempt") == "0 of 3 found in time"


def test_a_search_that_lags_a_little_is_asked_again(newsroom: Newsroom) -> None:
    newsroom.sandbox.set_fault("search_delay", seconds=2)
    start_s = time.monotonic()
    code, output = verify("--json")
    assert (code, failing(output)) == (0, [])
    seconds = float(observed(output, "by_attempt").split()[-2])
    assert 1.5 < seconds <= time.monotonic() - start_s + 0.1


def test_headers_that_the_provider_adds_fail(settings: Any, newsroom: Newsroom) -> None:
    # Postmark handles unsubscribes and adds its own headers, although the setting says otherwise.
    with SandboxServer(unsubscribe_handling="Postmark") as other:
        settings.POSTMARK_BASE_URL = other.url
        code, output = verify("--json")
    assert (code, failing(output)) == (1, ["headers"])
    assert observed(output, "headers").endswith(": List-Unsubscribe, List-Unsubscribe-Post")


def test_headers_of_a_provider_that_unsubscribes_have_any_value(
    settings: Any, newsroom: Newsroom
) -> None:
    settings.UNSUBSCRIBE_HANDLING = "postmark"
    assert failing(verify("--json")[1]) == ["headers"]
    with SandboxServer(unsubscribe_handling="Postmark") as other:
        settings.POSTMARK_BASE_URL = other.url
        assert failing(verify("--json")[1]) == []


def test_webhooks_that_do_not_arrive_fail(newsroom: Newsroom, settings: Any) -> None:
    code, output = verify("--json", "--to", ADA, wait=1)
    assert (code, failing(output)) == (1, ["events"])
    settings.POSTMARK_WEBHOOK_PASSWORD = ""
    code, output = verify("--json", "--to", ADA, wait=1)
    assert (code, failing(output)) == (0, [])
    assert observed(output, "events").startswith("not configured")


def test_events_of_other_mail_do_not_count(reporting: SandboxServer, newsroom: Newsroom) -> None:
    newsroom.publish(readers=3)
    reporting.sandbox.set_fault("webhook_very_late", recipient=ADA, calls=None)
    newsroom.deliver_all()
    code, output = verify("--json", "--to", ADA, wait=2)
    assert (code, failing(output)) == (1, ["events"])
    assert observed(output, "events") == "0 of 3 delivered in time; events: –"


def test_a_bad_address_that_is_accepted_fails(newsroom: Newsroom) -> None:
    code, output = verify("--json", "--bad-address", "good@example.net")
    assert (code, failing(output)) == (1, ["bad_address"])


@pytest.mark.parametrize(
    ("result", "seen"),
    [
        (
            Answered([Sent("1", None), Failed(REFUSED, refused=True), Sent("2", None)]),
            "ONE_REFUSED",
        ),
        (Answered([Sent("1", None), Failed(REFUSED), Sent("2", None)]), "BAD_ACCEPTED"),
        (Answered([Sent("1", None), Failed(REFUSED, refused=True)] * 2), "OTHERS_REFUSED"),
        (TooLarge(REFUSED), "OTHERS_REFUSED"),
    ],
)
def test_a_bad_address_may_cost_no_other_message(result: Any, seen: str) -> None:
    if isinstance(result, Answered):
        result = Answered([*result.messages[:2], result.messages[-1]])
    assert judge_bad_address(result).seen is Seen[seen]


def test_headers_must_be_present_with_their_value() -> None:
    wanted = {"Message-ID": "<1@a>", "List-Unsubscribe": ""}
    kept = {"message-id": "<1@a>", "list-unsubscribe": "<https://a>"}
    assert judge_headers(wanted, kept).seen is Seen.HEADERS_KEPT
    for found in ({**kept, "message-id": "<2@a>"}, {"message-id": "<1@a>"}):
        assert judge_headers(wanted, found).seen is Seen.HEADERS_CHANGED


def test_a_refused_check_mail_fails(newsroom: Newsroom) -> None:
    newsroom.sandbox.set_fault("item_error", code=300, nth=3)
    code, output = verify("--json")
    assert (code, failing(output)) == (1, ["check_mail"])
    assert observed(output, "check_mail").startswith("not accepted.")


def test_an_smtp_server_is_asked_only_about_its_calls(
    newsroom: Newsroom, django_mail: SmtpServer
) -> None:
    code, output = verify("--json", "--to", ADA)
    assert (code, failing(output)) == (0, [])
    relevant = [name for name, found in verdicts(output).items() if found != "not relevant"]
    assert relevant == ["batch"]
    assert django_mail.recipients == [ADA] * 3
    django_mail.answers["RCPT", "gone@example.net"] = "550 No such mailbox"
    code, output = verify("--json", "--to", ADA, "--bad-address", "gone@example.net")
    assert (code, verdicts(output)["bad_address"]) == (0, "holds")


def test_a_provider_asked_by_copy_gets_no_search_by_attempt(
    newsroom: Newsroom, settings: Any
) -> None:
    settings.MAIL_PROVIDER = "tests.delivery.provider.pigeon_post.PigeonPost"
    Loft.clear()
    code, output = verify("--json", "--bad-address", "gull@sea.example")
    Loft.clear()
    assert (code, failing(output)) == (0, [])
    assert verdicts(output)["by_attempt"] == "not relevant"
    assert verdicts(output)["by_delivery"] == "holds"


@pytest.mark.parametrize(
    ("second", "verdict"), [(b'{"id": "m-1"}', "holds"), (b'{"id": "m-2"}', "fails")]
)
def test_a_repeated_call_gets_the_same_ids(
    newsroom: Newsroom, settings: Any, second: bytes, verdict: str
) -> None:
    answers = [http("200 OK", content) for content in (b'{"id": "m-1"}', second)]
    per_call = [answering(*[answer] * 3) for answer in answers]

    def both(conversation: Conversation) -> None:
        for script in per_call:
            script(conversation)

    with ScriptedServer(both) as service:
        anymail_accounts.use(settings, "resend", service.url)
        settings.ANYMAIL["WEBHOOK_SECRET"] = ""
        code, output = verify("--json", "--to", ADA)
    assert (code, verdicts(output)["repetition"]) == (int(verdict == "fails"), verdict)
    assert observed(output, "events").startswith("not configured")


def test_a_provider_that_is_away_is_one_sentence(newsroom: Newsroom, settings: Any) -> None:
    settings.POSTMARK_BASE_URL = "http://127.0.0.1:9"
    with pytest.raises(CommandError, match="nothing is verified") as refused:
        verify()
    assert refused.value.returncode == 1
    assert "\n" not in str(refused.value)


def test_refused_first_mails_are_one_sentence(newsroom: Newsroom) -> None:
    newsroom.sandbox.set_fault("item_error", code=406, k=1)
    with pytest.raises(CommandError, match="nothing is verified"):
        verify()


@pytest.mark.parametrize(
    "options", [["--to", "nobody"], ["--wait", "-1"], ["--wait", "3601"]], ids=str
)
def test_bad_usage_exits_with_2(newsroom: Newsroom, options: list[str]) -> None:
    with pytest.raises(CommandError) as refused:
        verify(*options)
    assert refused.value.returncode == 2
    assert newsroom.sandbox.summary()["accepted"] == 0


def test_an_smtp_server_needs_an_address(newsroom: Newsroom, django_mail: SmtpServer) -> None:
    with pytest.raises(CommandError, match="own address") as refused:
        verify()
    assert refused.value.returncode == 2
