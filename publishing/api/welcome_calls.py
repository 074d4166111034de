"""API calls that show the welcome letter, and turn it on and off."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from ninja import Body, Field, Router

from api.bearer import Bearer, get_caller
from api.idempotent_call import changing, once
from api.problem import answers
from api.schema import ResponseBody, json_response
from delivery.issue_attributes import TITLE
from publishing.api import issue_scopes
from publishing.api.issue_shapes import ContentBody, content_in, refuse_problems
from publishing.editions.welcome_letter import welcome_letter
from publishing.publish.switch_welcome_letter import count_sent, turn_off, turn_on

router = Router(tags=["Welcome letter"], auth=Bearer(issue_scopes.PUBLISH), by_alias=True)


class NewWelcome(ContentBody):
    """Whether the welcome letter is on, and its content: text, HTML or both."""

    on: bool
    title: str = Field(default="", max_length=TITLE.longest, examples=["Hello {{ name|reader }}"])


class Welcome(ResponseBody):
    """The welcome letter; all values are empty if the letter is off."""

    on: bool
    title: str = Field(examples=["Hello {{ name|reader }}"])
    since: datetime | None
    sent: int = Field(examples=[12], description="How often it was sent.")


@router.get("/", response=answers(Welcome), summary="The welcome letter")
def get_welcome(request: HttpRequest) -> Welcome:
    """Return the letter that each reader gets after confirming; empty if it is off."""
    return _present()


@router.put("/", summary="Turn the welcome letter on or off", **changing({200: Welcome}))
@once
def put_welcome(request: HttpRequest, content: Body[NewWelcome]) -> HttpResponse:
    """Turn this welcome letter on for readers who opt in from now on, or turn it off.

    The new letter replaces the welcome letter that is on now. If both letters have the same
    content, nothing changes.
    """
    author = get_caller(request).user.pk
    if content.on:
        letter = content_in(content)
        refuse_problems(letter)
        turn_on(author, letter)
    else:
        turn_off(author)
    return json_response(_present())


def _present() -> Welcome:
    letter = welcome_letter()
    if letter is None:
        return Welcome(on=False, title="", since=None, sent=0)
    return Welcome(on=True, title=letter.title, since=letter.published_at, sent=count_sent(letter))
