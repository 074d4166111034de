"""The content of an issue in the body of a call."""

from typing import TYPE_CHECKING, Any

from pydantic import Field, create_model

from api.problem import FieldError, ProblemError, ProblemType
from api.schema import RequestBody
from delivery.issue_attributes import CONTENT_ATTRIBUTES, TITLE
from publishing.content.edition_content import Content, find_problems
from subscribers.fields.own_fields import load_own_fields


def _fields() -> dict[str, Any]:
    """Return a field for each attribute. Only the title is required."""
    return {
        one.api_name: (
            str,
            Field(
                default=... if one is TITLE else "",
                max_length=one.longest,
                description=one.api.description,
                examples=[one.api.example],
            ),
        )
        for one in CONTENT_ATTRIBUTES
    }


if TYPE_CHECKING:

    class ContentBody(RequestBody): ...

else:
    ContentBody = create_model("ContentBody", __base__=RequestBody, **_fields())


def content_in(body: ContentBody) -> Content:
    """Build the content that a call sends."""
    return Content.from_input(
        **{one.content: getattr(body, one.api_name) for one in CONTENT_ATTRIBUTES}
    )


def refuse_problems(content: Content) -> None:
    """Raise `ProblemError` for content that cannot be published."""
    errors = [
        FieldError(problem.attribute.api_name, problem.sentence)
        for problem in find_problems(content, load_own_fields())
    ]
    if errors:
        raise ProblemError(ProblemType.NOT_VALID, errors[0].detail, errors=errors)
