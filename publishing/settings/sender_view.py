"""The page of the sender in use, its domain's records, and a sender to try."""

from email.utils import parseaddr
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from delivery.humanise import clock_and_day
from delivery.interface import database_time
from delivery.models import Newsletter
from idempotency.key import fresh_key
from idempotency.safe_to_retry import safe_to_retry
from publishing.desk_access import desk_page, may_change_newsletter, user_id_of
from publishing.external_checks.cached_results import load_fresh
from publishing.external_checks.check_letter import check_letter
from publishing.external_checks.domain_records import domain_of
from publishing.preflight.checks.mail.spf_dkim_dmarc import check_domain
from publishing.preflight.finding import Severity
from publishing.preflight.finding_sentences import describe
from publishing.preflight.link_address import is_placeholder
from publishing.settings.sender_candidate import (
    Candidate,
    CandidateState,
    load_candidate,
    send_from,
    state_of,
    use_candidate,
)
from publishing.settings.sender_form import FIELDS, SenderForm
from publishing.test_letters.test_letter_view import key_of_test
from publishing.test_letters.test_letters import (
    TooManyTestsError,
    last_test_address,
    letter_sentence,
    next_poll_s,
)
from subscribers.links.see_other import see_other

SENDER = "desk:sender"
_LOOKS = {
    Severity.STOPS: ("attention", "fault"),
    Severity.ADVICE: ("attention", "doubt"),
    Severity.UNKNOWN: ("unknown", "doubt"),
    Severity.PASSED: ("sent", "sent"),
}


@may_change_newsletter
@require_http_methods(["GET", "HEAD", "POST"])
def sender_page(request: HttpRequest) -> HttpResponse:
    """Show the sender and the state of its test letter; for POST send one."""
    if request.method == "POST":
        try:
            return _try(request)
        except TooManyTestsError as error:
            return _again(request, str(error), status=429)
    candidate = load_candidate()
    is_open = candidate and _state(candidate) != CandidateState.IN_USE
    shown = candidate.mailbox if candidate and is_open else Newsletter.objects.get_current().sender
    name, address = parseaddr(shown)
    to = last_test_address(request.user)
    initial = {"sender_name": name, "sender_address": address, "test_email": to}
    return _page(request, SenderForm(initial=initial), candidate)


@may_change_newsletter
@require_POST
def use_sender(request: HttpRequest) -> HttpResponse:
    """Use the candidate whose test letter was accepted. Posting twice is safe."""
    number, candidate = request.POST.get("number", ""), load_candidate()
    if number.isdecimal() and len(number) < 10 and use_candidate(int(number), user_id_of(request)):
        messages.success(request, _("Letters are sent from this address now."))
    elif not candidate or _state(candidate) != CandidateState.IN_USE:
        messages.warning(
            request,
            _(
                "The sender was not changed. Postmark has not accepted its test letter, or another "
                "sender was tried since. Send a new test letter."
            ),
        )
    return see_other(reverse(SENDER))


@may_change_newsletter
@require_POST
def check_sender_domain(request: HttpRequest) -> HttpResponse:
    """Look up the domain's records, unless that was done in the last minutes."""
    domain = _domain(load_candidate(), Newsletter.objects.get_current())
    if not is_placeholder(domain):
        check_letter(domain, [])
    return see_other(f"{reverse(SENDER)}#domain")


def _again(request: HttpRequest, sentence: str, *, status: int) -> HttpResponse:
    form = SenderForm(request.POST)
    form.add_error(None, sentence)
    return _page(request, form, load_candidate(), status=status)


def _other_content(request: HttpRequest, form: SenderForm, key: str) -> HttpResponse:
    # This cannot happen: another sender has another key.
    raise AssertionError("two senders under one key of a test")


def _refused(request: HttpRequest, form: SenderForm, key: str) -> HttpResponse:
    return _page(request, form, load_candidate(), key=key)


@safe_to_retry(
    form=SenderForm,
    fields=FIELDS,
    show_form=_refused,
    different_content=_other_content,
    in_progress=_refused,
    invalid_key=lambda request, why: _again(request, str(why), status=400),
    key_of=key_of_test,
)
def _try(request: HttpRequest, form: SenderForm, key: str) -> HttpResponse:
    cleaned = form.cleaned_data
    send_from(
        cleaned["sender_name"],
        cleaned["sender_address"],
        cleaned["test_email"],
        user_id_of(request),
    )
    return see_other(reverse(SENDER))


def _page(
    request: HttpRequest,
    form: SenderForm,
    candidate: Candidate | None,
    *,
    status: int = 200,
    key: str = "",
) -> HttpResponse:
    newsletter, now = Newsletter.objects.get_current(), database_time()
    domain = _domain(candidate, newsletter)
    findings = [
        {
            "sentence": sentence,
            "detail": detail,
            "examples": one.examples,
            "glyph": _LOOKS[one.severity][0],
            "tone": _LOOKS[one.severity][1],
        }
        for one in check_domain(domain, load_fresh(domain, []))
        for sentence, detail in [describe(one, lambda at: clock_and_day(at, now, newsletter.zone))]
    ]
    context: dict[str, Any] = {
        "form": form,
        "key": key or fresh_key(),
        "newsletter": newsletter,
        "candidate": candidate,
        "state": state_of(candidate, newsletter) if candidate else "",
        "sentence": letter_sentence(candidate.letter, now, newsletter.zone) if candidate else "",
        "poll_s": next_poll_s(candidate.letter, now) if candidate else 0,
        "domain": domain,
        "is_placeholder": is_placeholder(domain),
        "records": [
            (_("Return path, CNAME"), f"pm-bounces.{domain}", "pm.mtasv.net"),
            (_("DMARC, TXT"), f"_dmarc.{domain}", "v=DMARC1; p=none"),
        ],
        "findings": findings,
    }
    return desk_page(request, "publishing/settings/sender.html", context, status=status)


def _state(candidate: Candidate) -> CandidateState:
    return state_of(candidate, Newsletter.objects.get_current())


def _domain(candidate: Candidate | None, newsletter: Newsletter) -> str:
    """Return the domain to check: the candidate's, until it is in use."""
    return domain_of(candidate.address if candidate else newsletter.sender)
