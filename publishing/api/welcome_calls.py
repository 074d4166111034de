"""API calls that show the welcome letter, and turn it on and off."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from ninja import Body, Field, Router

from api.bearer import Bearer, get_caller
from api.idempotent_call import KEY_PARAMETER, run_call
from api.problem import (
    CHANGE_STATUSES,
    FieldError,
    ProblemError,
    ProblemType,
    problem_responses,
)
from api.schema import RequestBody, ResponseBody, json_response
from publishing.api import scopes
from publishing.approval.approval import NeedsApprovalError
from publishing.content.edition_content import (
    LONGEST_PART,
    LONGEST_PREHEADER,
    LONGEST_TITLE,
    Content,
    find_problems,
)
from publishing.editions.welcome_letter import welcome_letter
from publishing.publish.welcome import count_sent, turn_off, turn_on
from subscribers.fields.reader_fields import load_own_fields

router = Router(tags=["Welcome letter"], auth=Bearer(scopes.PUBLISH), by_alias=True)
_FIELDS = {"html_content": "html", "text_content": "text"}


class NewWelcome(RequestBody):
    """Whether the letter is on, and its content, which needs text, HTML or both."""

    on: bool
    title: str = Field(default="", max_length=LONGEST_TITLE, examples=["Hello {{ name|reader }}"])
    preheader: str = Field(default="", max_length=LONGEST_PREHEADER)
    html: str = Field(default="", max_length=LONGEST_PART)
    text: str = Field(default="", max_length=LONGEST_PART, examples=["Welcome."])


class Welcome(ResponseBody):
    """The welcome letter: empty values if it is off."""

    on: bool
    title: str = Field(examples=["Hello {{ name|reader }}"])
    since: datetime | None
    sent: int = Field(examples=[12], description="How often it was sent.")


@router.get("/", response={200: Welcome, **problem_responses()}, summary="The welcome letter")
def get_welcome(request: HttpRequest) -> Welcome:
    """Return the letter that each reader gets after confirming, if it is on."""
    return _present()


@router.put(
    "/",
    response={200: Welcome, **problem_responses(*CHANGE_STATUSES)},
    summary="Turn the welcome letter on or off",
    openapi_extra=KEY_PARAMETER,
)
def put_welcome(request: HttpRequest, content: Body[NewWelcome]) -> HttpResponse:
    """
    Send this letter to readers who opt in from now on, or none.

    A letter that is on is replaced. The same content again changes nothing.
    """

    def work(_: str) -> HttpResponse:
        author = get_caller(request).user.pk
        if content.on:
            letter = Content.from_input(
                content.title, content.html, content.text, content.preheader
            )
            errors = [
                FieldError(_FIELDS.get(flaw.field, flaw.field), flaw.sentence)
                for flaw in find_problems(letter, load_own_fields())
            ]
            if errors:
                raise ProblemError(ProblemType.NOT_VALID, errors[0].detail, errors=errors)
            try:
                turn_on(author, letter)
            except NeedsApprovalError as error:
                raise ProblemError(ProblemType.TAKES_TWO, str(error)) from None
        else:
            turn_off(author)
        return json_response(_present())

    return run_call(request, content, work)


def _present() -> Welcome:
    letter = welcome_letter()
    if letter is None:
        return Welcome(on=False, title="", since=None, sent=0)
    return Welcome(on=True, title=letter.title, since=letter.published_at, sent=count_sent(letter))
