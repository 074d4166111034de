"""Send a test letter from a composer's form; show its state as a page or as JSON."""

import hashlib
import uuid
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import Resolver404, resolve, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from delivery.interface import database_time, load_test_letter
from delivery.issue_attributes import CONTENT_ATTRIBUTES, LETTER
from delivery.mail.mark_test_letter import mark_subject
from delivery.models import Newsletter
from idempotency.key import FIELD, HEADER, InvalidKey, fresh_key, read_key
from idempotency.safe_to_retry import safe_to_retry
from publishing.activity.activity_log import parse_id
from publishing.content.draft_content import build_content
from publishing.content.edition_content import Content, plain_title
from publishing.desk_access import desk_page, may_write, user_id_of, wants_json
from publishing.drafts import save_draft
from publishing.drafts.draft_form import DraftForm
from publishing.drafts.keep_signed_out import keep_when_signed_out, sign_writer
from publishing.flash_messages import page_of_test, tag_of_test
from publishing.test_letters.send_test_letter import (
    TooManyTestsError,
    is_settled,
    letter_sentence,
    next_poll_s,
    send_test,
    tone_of,
)
from subscribers.address import read_address
from subscribers.links.see_other import see_other
from subscribers.refusal_sentences import InputRefusal, sentence_of

EMAIL = "test_email"
# A post with the same values of these fields is a repetition.
FIELDS = (*(one.control for one in CONTENT_ATTRIBUTES), "format", LETTER.column, EMAIL)
NEXT, DRAFT = "next", "draft"
ON_ITS_WAY = gettext_lazy("The test letter is on its way.")


class SendTestForm(DraftForm):
    """The composer's form with an address; a valid form has `content` and `to`."""

    test_email = forms.CharField(required=False, label=gettext_lazy("Address for the test"))

    content: Content
    to: str = ""

    def clean(self) -> dict[str, Any]:
        found = super().clean()
        if self.has_too_long_text:
            # Stop here, because rendering a text that is too long would take minutes.
            return found
        self.content = build_content(self.written)
        self.add_problems(self.content)
        return found

    def clean_test_email(self) -> str:
        """Refuse an address that is invalid or cannot be mailed."""
        address = read_address(self.cleaned_data[EMAIL])
        if isinstance(address, InputRefusal):
            sentence = _("The test cannot be sent to this address. {reason}")
            raise ValidationError(sentence.format(reason=sentence_of(address)))
        self.to = address
        return address


@keep_when_signed_out
@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def send_test_letter(request: HttpRequest) -> HttpResponse:
    """Send the posted letter once, as one mail that is marked as a test.

    On GET, which a browser sends after a sign-in, show the form.
    """
    if request.method != "POST":
        return see_other(reverse("desk:publish"))
    try:
        return _post(request)
    except TooManyTestsError as error:
        return form_again(request, str(error), status=429)


@may_write
@require_safe
def test_letter_page(request: HttpRequest, number: int) -> HttpResponse:
    """Show the state of a test letter, as a page or as JSON."""
    letter = load_test_letter(number)
    if letter is None:
        raise Http404(_("There is no test letter number {number}.").format(number=number))
    now = database_time()
    sentence = letter_sentence(letter, now, Newsletter.objects.get_current().zone)
    if wants_json(request):
        body = {
            "test": number,
            "to": letter.address,
            "outcome": letter.outcome,
            "sentence": sentence,
            "settled": is_settled(letter),
            "address": reverse("desk:test_letter", args=[number]),
        }
        return JsonResponse(body, headers={"Cache-Control": "no-store"})
    named = parse_id(request.GET.get(DRAFT))
    return desk_page(
        request,
        "publishing/test_letters/test_letter.html",
        {
            "letter": letter,
            "subject": mark_subject(plain_title(letter.batch.edition)),
            "sentence": sentence,
            "is_settled": is_settled(letter),
            "poll_s": next_poll_s(letter, now),
            "tone": tone_of(letter),
            "draft": save_draft.load_draft(pk=named) if named else None,
            "again": request.get_full_path(),
            "unsubscribes_nobody": settings.UNSUBSCRIBE_HANDLING == "own",
        },
    )


def _refused(request: HttpRequest, form: SendTestForm, *, status: int = 200) -> HttpResponse:
    if wants_json(request):
        return JsonResponse({"errors": form.errors}, status=status)
    key = read_key(request.POST.getlist(FIELD), request.headers.get(HEADER))
    return desk_page(
        request,
        "publishing/test_letters/test_letter_refused.html",
        {
            "form": form,
            "errors": [
                ("" if name == "__all__" else form.fields[name].label, sentence)
                for name, sentences in form.errors.items()
                for sentence in sentences
            ],
            "words": [
                (name, value)
                for name in form.fields
                for value in request.POST.getlist(name)
                if name != EMAIL
            ],
            "to": request.POST.get(EMAIL, ""),
            "next": _where_from(request),
            "key": fresh_key() if isinstance(key, InvalidKey) else key,
            "writer": sign_writer(request.user),
        },
        status=status,
    )


def form_again(request: HttpRequest, sentence: str, *, status: int) -> HttpResponse:
    """Show the posted letter and address again, with one sentence."""
    form = SendTestForm(request.POST)
    form.add_error(None, sentence)
    return _refused(request, form, status=status)


def no_other_content(request: HttpRequest, form: forms.Form, key: str) -> HttpResponse:
    """Raise an error: this never occurs, because other content gets another key."""
    raise AssertionError("two letters under one key of a test")


def key_of_test(key: str, fingerprint: bytes) -> str:
    """Derive a test's key from the form's key, so that one form can send many tests."""
    return f"test-{hashlib.sha256(key.encode() + fingerprint).hexdigest()[:40]}"


@safe_to_retry(
    form=SendTestForm,
    fields=FIELDS,
    show_form=lambda request, form, _: _refused(request, form),
    different_content=no_other_content,
    in_progress=lambda request, _form, _key: form_again(
        request,
        _("Your earlier click is still being processed. Press the button again."),
        status=200,
    ),
    invalid_key=lambda request, why: form_again(
        request, " ".join((str(why), _("Nothing was sent."))), status=200
    ),
    key_of=key_of_test,
)
def _post(request: HttpRequest, form: SendTestForm, key: str) -> HttpResponse:
    number = send_test(user_id_of(request), form.content, form.to)
    back = _where_from(request)
    draft = _draft_at(back)
    address = page_of_test(number, draft)
    # Leave out the recipient, because the answer is stored for a while, and the reader may be
    # erased meanwhile.
    if wants_json(request):
        return JsonResponse({"test": number, "address": address, "sentence": str(ON_ITS_WAY)})
    if back:
        messages.success(request, ON_ITS_WAY, extra_tags=tag_of_test(number, draft))
    return see_other(back or address)


def _draft_at(page: str) -> uuid.UUID | None:
    try:
        found = resolve(urlsplit(page).path)
    except Resolver404:
        return None
    return found.kwargs["draft"] if found.view_name == "desk:draft" else None


def _where_from(request: HttpRequest) -> str:
    named = request.POST.get(NEXT, "")
    is_ours = url_has_allowed_host_and_scheme(named, allowed_hosts=None)
    return named if is_ours and named.startswith(reverse("desk:publish")) else ""
