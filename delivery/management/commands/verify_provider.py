"""`manage.py verify_provider`: verify with real mail what Homing assumes."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_email
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.models import Newsletter
from delivery.provider.from_settings import provider_from_settings
from delivery.provider.verify_assumptions import (
    Inquiry,
    NotAcceptedError,
    Observation,
    Question,
    Seen,
    Verdict,
)
from delivery.queue.enqueue_test_letter import next_number
from delivery.reports.reason_sentences import reason_sentence

LONGEST_WAIT_S = 3600
BAD_USAGE = 2
QUESTIONS = {
    Question.BATCH: (
        gettext_lazy("a call takes several messages"),
        gettext_lazy("all accepted"),
    ),
    Question.ORDER: (
        gettext_lazy("results are in the order of the messages"),
        gettext_lazy("the same ids"),
    ),
    Question.BY_ATTEMPT: (
        gettext_lazy("a search by attempt finds a call's copies"),
        gettext_lazy("all copies"),
    ),
    Question.BY_DELIVERY: (
        gettext_lazy("a search by delivery finds its copy"),
        gettext_lazy("all copies"),
    ),
    Question.BAD_ADDRESS: (
        gettext_lazy("a bad address harms no other message"),
        gettext_lazy("it alone is refused"),
    ),
    Question.HEADERS: (
        gettext_lazy("headers arrive unchanged"),
        gettext_lazy("the same values, each once"),
    ),
    Question.EVENTS: (
        gettext_lazy("webhooks report deliveries"),
        gettext_lazy("one for each message"),
    ),
    Question.CHECK_MAIL: (
        gettext_lazy("a check mail is accepted and found"),
        gettext_lazy("found"),
    ),
    Question.REPETITION: (
        gettext_lazy("a call that is repeated with its key sends nothing"),
        gettext_lazy("the same ids"),
    ),
}
SENTENCES = {
    Seen.ACCEPTED: gettext_lazy("{n} accepted"),
    Seen.ORDER_SAME: gettext_lazy("the same ids"),
    Seen.FOUND: gettext_lazy("{n} of {of} found after {seconds} s"),
    Seen.ONE_REFUSED: gettext_lazy("it alone was refused"),
    Seen.HEADERS_KEPT: gettext_lazy("unchanged: {names}"),
    Seen.EVENTS_CAME: gettext_lazy("{n} of {of} delivered after {seconds} s; events: {kinds}"),
    Seen.ORDER_DIFFERS: gettext_lazy("the results name other messages"),
    Seen.OTHERS_REFUSED: gettext_lazy("other messages were not accepted."),
    Seen.BAD_ACCEPTED: gettext_lazy("the bad address was not refused."),
    Seen.HEADERS_CHANGED: gettext_lazy("changed or missing: {names}"),
    Seen.NOT_ACCEPTED: gettext_lazy("not accepted."),
    Seen.SOME_FOUND: gettext_lazy("{n} of {of} found in time"),
    Seen.NO_ANSWER: gettext_lazy("no answer."),
    Seen.EVENTS_MISSING: gettext_lazy("{n} of {of} delivered in time; events: {kinds}"),
    Seen.CANNOT_BE_ASKED: gettext_lazy("the provider cannot be asked"),
    Seen.ASKED_BY_COPY: gettext_lazy("the provider is asked by copy"),
    Seen.NO_BAD_ADDRESS: gettext_lazy("give one with --bad-address"),
    Seen.SHOWS_NO_HEADERS: gettext_lazy("the provider shows no headers"),
    Seen.NO_WEBHOOKS: gettext_lazy("the provider has no webhooks"),
    Seen.NO_WEBHOOK_LOGIN: gettext_lazy("not configured: webhooks have no password"),
    Seen.REACHES_NOBODY: gettext_lazy("mail to this address is never delivered; use --to"),
    Seen.NO_CHECK_MAIL: gettext_lazy("the provider has no such mail"),
    Seen.ANSWERED_AGAIN: gettext_lazy("the same ids; check that {n} mails came, not {twice}"),
    Seen.SENT_AGAIN: gettext_lazy("other ids, so the key was ignored"),
    Seen.TAKES_NO_KEY: gettext_lazy("the provider takes no key"),
}
VERDICTS = {
    Verdict.HOLDS: gettext_lazy("holds"),
    Verdict.FAILS: gettext_lazy("FAILS"),
    Verdict.NOT_RELEVANT: gettext_lazy("not relevant"),
}


class Command(BaseCommand):
    help = _(
        "Verify with up to 9 real mails what Homing assumes of the mail provider. "
        "Exits with 1 if an assumption does not hold. Changes no delivery and no reader."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--to",
            metavar="ADDRESS",
            help=_("your own address, which gets the mails (default: one that reaches nobody)"),
        )
        parser.add_argument(
            "--bad-address", metavar="ADDRESS", help=_("an address that the provider refuses")
        )
        parser.add_argument(
            "--wait",
            metavar="SECONDS",
            type=int,
            default=120,
            help=_("the longest wait for the search and for webhooks (default: %(default)s)"),
        )
        parser.add_argument("--json", action="store_true", help=_("print JSON"))

    def handle(self, *args: Any, **options: Any) -> None:
        if not 0 <= options["wait"] <= LONGEST_WAIT_S:
            raise CommandError(
                _("--wait is {value}. Give 0 to {most} seconds.").format(
                    value=options["wait"], most=LONGEST_WAIT_S
                ),
                returncode=BAD_USAGE,
            )
        provider = provider_from_settings()
        sender, name = Newsletter.objects.get_current().sender, provider.capabilities().name
        to = options["to"] or _default_address(provider, sender)
        try:
            validate_email(to)
        except ValidationError:
            raise CommandError(
                _("--to is “{address}”. Give your own address.").format(address=to),
                returncode=BAD_USAGE,
            ) from None
        try:
            inquiry = Inquiry(provider, sender, next_number(), to, options["bad_address"])
            observations = inquiry.ask(options["wait"])
        except NotAcceptedError as error:
            raise CommandError(
                _(
                    "{provider} did not accept the first mails, so nothing is verified: {why}"
                ).format(provider=name, why=reason_sentence(error.reason))
            ) from None
        finally:
            provider.close()
        self.stdout.write(_as_json(observations) if options["json"] else _as_table(observations))
        if any(one.verdict is Verdict.FAILS for one in observations):
            sys.exit(1)


def _default_address(provider: Any, sender: str) -> str:
    can = provider.capabilities()
    mail = provider.check_mail(sender, "", "0") if can.can_be_asked else None
    return mail.address if mail else ""


def _observed(one: Observation) -> str:
    params = {
        name: f"{value:.1f}" if isinstance(value, float) else value
        for name, value in one.params.items()
    }
    sentence = str(SENTENCES[one.seen]).format_map(params)
    return f"{sentence} {reason_sentence(one.reason)}".strip()


def _as_table(observations: list[Observation]) -> str:
    rows = [(_("Assumption"), _("Observed"), _("Needed"), _("Verdict"))]
    for one in observations:
        assumption, needed = map(str, QUESTIONS[one.question])
        rows.append((assumption, _observed(one), needed, str(VERDICTS[one.verdict])))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _as_json(observations: list[Observation]) -> str:
    return json.dumps(
        [
            {
                "assumption": one.question,
                "observed": _observed(one),
                "needed": str(QUESTIONS[one.question][1]),
                "verdict": one.verdict,
                **one.params,
            }
            for one in observations
        ],
        ensure_ascii=False,
    )
