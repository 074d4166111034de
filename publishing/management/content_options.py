"""The options of commands that take the content of an issue."""

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from delivery.humanise import digits
from delivery.issue_attributes import CONTENT_ATTRIBUTES, LONGEST_PART, TITLE, IssueAttribute
from publishing.content.edition_content import Content, find_problems
from subscribers.fields.own_fields import load_own_fields
from subscribers.management.command_options import decoded_option

# Bytes. A character has at most 4 bytes in UTF-8.
LARGEST_FILE = 4 * LONGEST_PART


def add_content_options(parser: ArgumentParser, *, needs_title: bool) -> None:
    """Add the options for the parts of the content; `content_of_options` reads them."""
    for one in CONTENT_ATTRIBUTES:
        if one.is_part:
            parser.add_argument(one.option, type=Path, help=one.option_help)
        else:
            required = needs_title and one is TITLE
            names = [one.option, one.old_option] if one.old_option else [one.option]
            parser.add_argument(
                *names, default="", required=required, metavar="TEXT", help=one.option_help
            )


def content_of_options(options: Mapping[str, Any]) -> Content:
    """Build the content. Raises `CommandError` if this content cannot be published."""
    content = Content.from_input(**{one.content: _text(one, options) for one in CONTENT_ATTRIBUTES})
    problems = find_problems(content, load_own_fields())
    if problems:
        raise CommandError(" ".join(problem.sentence for problem in problems))
    return content


def _text(attribute: IssueAttribute, options: Mapping[str, Any]) -> str:
    given = options[attribute.option.removeprefix("--").replace("-", "_")]
    return _read_utf8(given) if attribute.is_part else decoded_option(attribute.option, given)


def _read_utf8(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        # Read up to a limit, because a device such as /dev/zero has no size and never ends.
        with path.open("rb") as file:
            found = file.read(LARGEST_FILE + 1)
        if len(found) > LARGEST_FILE:
            raise CommandError(
                _("“{path}” is too large. The limit is {most} bytes.").format(
                    path=path, most=digits(LARGEST_FILE)
                )
            )
        return found.decode("utf-8-sig")
    except OSError as error:
        raise CommandError(
            _("“{path}” cannot be read: {reason}.").format(path=path, reason=error.strerror)
        ) from None
    except UnicodeDecodeError:
        raise CommandError(
            _("“{path}” is not UTF-8. Save it as UTF-8 and try again.").format(path=path)
        ) from None
