"""With another provider, pages name it and leave out what it does not have."""

import time
from typing import Any

import pytest
from django.core.checks import run_checks
from django.utils import timezone

from delivery.models import Newsletter
from delivery.provider.provider_protocol import Asks, Capabilities, Provider
from delivery.reports.reason_sentences import reason_sentence
from delivery.reports.sending_health import health_lines, read_health
from delivery.rules.reason import Reason, ReasonCode, Remedy
from publishing.dashboard.first_steps import Step, load_first_steps
from publishing.external_checks.cached_results import DOMAIN, CachedResults, save
from publishing.external_checks.domain_records import NameServers, Records, look_up_domain
from publishing.preflight.checks.mail.spf_dkim_dmarc import check_domain
from tests.publishing.author_browser import WindowOf
from tests.publishing.preflight.context_factory import NOW, domain, records

NAME = "smtp.example.org"
SENDER_PAGE = "/admin/newsletters/settings/sender/"


class PlainMail(Provider):
    """A provider that can only send."""

    @classmethod
    def capabilities(cls) -> Capabilities:
        return Capabilities(
            name=NAME, asks=Asks.NEVER, largest_batch=100, batch=20, remembers_days=30
        )

    def send(self, *args: Any, **options: Any) -> Any:
        raise NotImplementedError


@pytest.fixture(autouse=True)
def plain_mail(settings: Any) -> None:
    settings.MAIL_PROVIDER = f"{__name__}.{PlainMail.__name__}"


def test_reasons_name_the_provider() -> None:
    unreadable = Reason.of(ReasonCode.RESPONSE_UNREADABLE)
    assert reason_sentence(unreadable) == f"{NAME}'s answer could not be read."
    asks = reason_sentence(unreadable.with_params(remedy=Remedy.ASK_PROVIDER))
    assert f"Ask {NAME} why" in asks
    # Only Postmark has a sentence for this remedy.
    assert reason_sentence(unreadable.with_params(remedy=Remedy.TOKEN)) == reason_sentence(
        unreadable
    )


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (records(), "almanack.org has no SPF record"),
        (records("v=spf1 include:mail.example ~all"), "almanack.org has one SPF record."),
        (records("v=spf1 -all", "v=spf1 ~all"), "almanack.org has 2 SPF records"),
        (records("v=spf1 +all"), "SPF of almanack.org lets everybody send in its name"),
    ],
)
def test_spf_is_checked_without_a_provider_to_compare(texts: Records, sentence: str) -> None:
    looked_up = CachedResults(domain(texts=texts), NOW, {}, None)
    spf, dkim, dmarc = check_domain("almanack.org", looked_up, str)
    assert spf.sentence == sentence
    assert dkim.detail == f"{NAME} does not say which key it uses. Look at its own pages."
    assert "(reject)" in dmarc.sentence


def test_only_known_names_are_looked_up() -> None:
    class Servers(NameServers):
        asked: list[tuple[str, str]] = []

        def query(self, name: str, kind: str, *, deadline: float) -> Records:
            assert deadline > time.monotonic()
            self.asked.append((name, kind))
            return records()

    found = look_up_domain("almanack.org", Servers([]))
    assert sorted(Servers.asked) == [("_dmarc.almanack.org", "TXT"), ("almanack.org", "TXT")]
    assert found.is_known


@pytest.mark.django_db
def test_a_missing_webhook_is_neither_a_step_nor_a_warning(settings: Any) -> None:
    settings.POSTMARK_WEBHOOK_USER = settings.POSTMARK_WEBHOOK_PASSWORD = ""
    steps = load_first_steps(Newsletter(), set(Step), readers=0, has_issue=False, has_sent=False)
    assert [step for step, _ in steps.steps] == [step for step in Step if step != Step.WEBHOOK]
    reported = {one.id for one in run_checks(tags=["homing"], include_deployment_checks=True)}
    assert "homing.W001" not in reported


@pytest.mark.django_db
def test_health_has_lines_only_for_what_the_provider_does() -> None:
    lines = health_lines(
        read_health(), timezone.get_default_timezone(), ceiling_per_s=None, takes_webhooks=False
    )
    assert [line.name for line in lines] == ["Workers", NAME, "Unconfirmed"]


@pytest.mark.django_db(transaction=True)
def test_the_sender_page_refers_to_the_provider(window: WindowOf) -> None:
    Newsletter.objects.update_or_create(pk=1, defaults={"sender_address": "letter@almanack.org"})
    found = domain()
    save(DOMAIN, {found.domain: found})
    words = window.get(SENDER_PAGE).words
    assert f"For SPF and DKIM of almanack.org, follow the instructions of {NAME}." in words
    assert "_dmarc.almanack.org with the value v=DMARC1; p=none" in words
    assert "Postmark" not in words
    assert "pm-bounces" not in words
