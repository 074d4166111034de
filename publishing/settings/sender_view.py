"""The page of the sender in use, its domain's records, and a sender to try."""

from email.utils import parseaddr
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from delivery.humanise import clock_and_day
from delivery.interface import capabilities, database_time, provider_name
from delivery.models import Newsletter
from delivery.models.newsletter import one_line
from idempotency.key import fresh_key
from idempotency.safe_to_retry import safe_to_retry
from publishing.desk_access import desk_page, may_change_newsletter, user_id_of
from publishing.external_checks.cached_results import load_fresh
from publishing.external_checks.check_letter import check_letter
from publishing.external_checks.domain_records import domain_of
from publishing.preflight.checks.mail.spf_dkim_dmarc import check_domain
from publishing.preflight.finding import Severity
from publishing.preflight.link_address import is_placeholder
from publishing.settings.sender_candidate import (
    Candidate,
    CandidateState,
    load_candidate,
    mailbox_of,
    send_from,
    use_candidate,
)
from publishing.test_letters.send_test_letter import (
    TooManyTestsError,
    last_test_address,
    letter_sentence,
    next_poll_s,
)
from publishing.test_letters.send_test_letter_view import key_of_test, no_other_content
from subscribers.links.see_other import see_other
from subscribers.signup.signup_form import AddressField

# The lowest limit of a provider for the name and the address together.
LONGEST_SENDER = 255
FIELDS = ("sender_name", "sender_address", "test_email")


class SenderForm(forms.Form):
    """A name and an address to send from, and where the test letter goes."""

    sender_name = forms.CharField(
        max_length=100,
        required=False,
        validators=[one_line],
        label=gettext_lazy("Sender’s name"),
        help_text=gettext_lazy("Readers see it in their inbox, such as Ada of the Tide Tables."),
    )
    sender_address = AddressField(
        label=gettext_lazy("Sender’s address"),
        help_text=gettext_lazy("An address of a domain that is yours."),
    )
    test_email = AddressField(
        label=gettext_lazy("Send the test letter to"),
        help_text=gettext_lazy("An address that you can read."),
    )

    def __init__(self, data: Any = None, files: Any = None, initial: Any = None) -> None:
        super().__init__(data, auto_id="%s", initial=initial)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.errors:
            mailbox = mailbox_of(cleaned["sender_name"], cleaned["sender_address"])
            if len(mailbox) > LONGEST_SENDER:
                sentence = _(
                    "Name and address have {length} characters, and {provider} accepts {longest}. "
                    "Shorten the name."
                )
                self.add_error(
                    "sender_name",
                    sentence.format(
                        length=len(mailbox), longest=LONGEST_SENDER, provider=provider_name()
                    ),
                )
        return cleaned


SENDER = "desk:sender"
_LOOKS = {
    Severity.STOPS: {"glyph": "attention", "tone": "fault"},
    Severity.ADVICE: {"glyph": "attention", "tone": "doubt"},
    Severity.UNKNOWN: {"glyph": "unknown", "tone": "doubt"},
    Severity.PASSED: {"glyph": "sent", "tone": "sent"},
}


@may_change_newsletter
@require_http_methods(["GET", "HEAD", "POST"])
def sender_page(request: HttpRequest) -> HttpResponse:
    """Show the sender and the state of its test letter; on POST send a test letter."""
    if request.method == "POST":
        try:
            return _try(request)
        except TooManyTestsError as error:
            return _again(request, str(error), status=429)
    candidate = load_candidate()
    is_open = candidate and candidate.state != CandidateState.IN_USE
    shown = candidate.mailbox if candidate and is_open else Newsletter.objects.get_current().sender
    name, address = parseaddr(shown)
    to = last_test_address(request.user)
    initial = {"sender_name": name, "sender_address": address, "test_email": to}
    return _page(request, SenderForm(initial=initial), candidate)


@may_change_newsletter
@require_POST
def use_sender(request: HttpRequest) -> HttpResponse:
    """Use the candidate whose test letter was accepted. Posting twice is safe."""
    number = request.POST.get("number", "")
    if number.isdecimal() and len(number) < 10 and use_candidate(int(number), user_id_of(request)):
        messages.success(request, _("Letters are sent from this address now."))
    elif not (candidate := load_candidate()) or candidate.state != CandidateState.IN_USE:
        messages.warning(
            request,
            _(
                "The sender was not changed. {provider} has not accepted its test letter, or "
                "another sender was tried since. Send a new test letter."
            ).format(provider=provider_name()),
        )
    return see_other(reverse(SENDER))


@may_change_newsletter
@require_POST
def check_sender_domain(request: HttpRequest) -> HttpResponse:
    """Look up the domain's records, unless they were looked up in the last minutes."""
    domain = _domain(load_candidate(), Newsletter.objects.get_current())
    if not is_placeholder(domain):
        check_letter(domain, [])
    return see_other(f"{reverse(SENDER)}#domain")


def _again(request: HttpRequest, sentence: str, *, status: int) -> HttpResponse:
    form = SenderForm(request.POST)
    form.add_error(None, sentence)
    return _page(request, form, load_candidate(), status=status)


def _refused(request: HttpRequest, form: SenderForm, key: str) -> HttpResponse:
    return _page(request, form, load_candidate(), key=key)


@safe_to_retry(
    form=SenderForm,
    fields=FIELDS,
    show_form=_refused,
    different_content=no_other_content,
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
    found = check_domain(
        domain, load_fresh(domain, []), lambda at: clock_and_day(at, now, newsletter.zone)
    )
    records = capabilities().sender_records
    wanted = records.records if records else ()
    context: dict[str, Any] = {
        "form": form,
        "key": key or fresh_key(),
        "newsletter": newsletter,
        "candidate": candidate,
        "state": candidate.state if candidate else "",
        "sentence": letter_sentence(candidate.letter, now, newsletter.zone) if candidate else "",
        "poll_s": next_poll_s(candidate.letter, now) if candidate else 0,
        "domain": domain,
        "is_placeholder": is_placeholder(domain),
        "page": records.page if records else "",
        "records": [
            *((_(kind), f"{name}.{domain}", value) for kind, name, value in wanted),
            (_("DMARC, TXT"), f"_dmarc.{domain}", "v=DMARC1; p=none"),
        ],
        "findings": [
            {"finding": one, "examples": one.examples[:5], **_LOOKS[one.severity]} for one in found
        ],
    }
    return desk_page(request, "publishing/settings/sender.html", context, status=status)


def _domain(candidate: Candidate | None, newsletter: Newsletter) -> str:
    """Return the domain to check: of the candidate, or else of the sender in use."""
    return domain_of(candidate.address if candidate else newsletter.sender)
