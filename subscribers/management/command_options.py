"""Shared parts of commands: the option `--author`, and checks of given options."""

import uuid
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils.translation import gettext as _

from api.problem import ProblemError
from api.schema import ResponseBody


class AnswerCommand(BaseCommand):
    """A command that prints the response of the matching API call as one line of JSON."""

    def answer(self, options: dict[str, Any]) -> ResponseBody:
        """Do the command's work, or raise `ProblemError` or `CommandError`."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        for name, given in options.items():
            for text in given if isinstance(given, list) else [given]:
                if isinstance(text, str):
                    decoded_option(f"--{name}", text)
        with as_command_error(ProblemError), transaction.atomic():
            self.stdout.write(self.answer(options).model_dump_json())


@contextmanager
def as_command_error(*errors: type[Exception]) -> Iterator[None]:
    """Turn these errors into a `CommandError` with the same sentence."""
    try:
        yield
    except errors as error:
        raise CommandError(str(error)) from None


def add_author_option(parser: ArgumentParser) -> None:
    """Add the option `--author`, which `active_author` reads."""
    whom = _("the author’s user name (default: the only superuser)")
    parser.add_argument("--author", metavar="USERNAME", help=whom)


def active_author(username: str | None) -> uuid.UUID:
    """Return the id of the author `username`, or else of the only superuser.

    Raises `CommandError`.
    """
    users = get_user_model().objects.filter(is_active=True)
    if username is not None:
        author = users.filter(username=decoded_option("--author", username)).first()
        if author is None:
            raise CommandError(
                _("There is no active author with the user name “{username}”.").format(
                    username=username
                )
            )
        return author.pk
    superusers = list(users.filter(is_superuser=True)[:2])
    if len(superusers) != 1:
        raise CommandError(
            _("There is more than one superuser. Name the author with --author USERNAME.")
            if superusers
            else _("There is no superuser. Name the author with --author USERNAME.")
        )
    return superusers[0].pk


def require_any(options: Mapping[str, Any], needed: Sequence[str], *names: str) -> None:
    """Raise `CommandError` if any of `names` is given without any `needed` option."""
    if any(options[name] not in (None, False) for name in needed):
        return
    for name in names:
        if options[name] not in (None, []):
            words = _(" or ").join(f"--{one}" for one in needed)
            raise CommandError(
                _("--{option} needs {needed}.").format(option=name.replace("_", "-"), needed=words)
            )


def decoded_option(option: str, given: str) -> str:
    """Return an option's text. Raises `CommandError` for bytes that are not UTF-8.

    If an option's bytes are not UTF-8, Python passes them to us as lone surrogates.
    """
    try:
        given.encode()
    except UnicodeEncodeError:
        raise CommandError(
            _("{option} is {value}, which is not UTF-8. Use UTF-8.").format(
                option=option, value=ascii(given)
            )
        ) from None
    return given
