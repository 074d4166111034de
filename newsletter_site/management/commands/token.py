"""`manage.py token create|list|revoke`: tokens of the API, from the command line."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from delivery.interface import database_time
from newsletter_site.models import ApiToken
from newsletter_site.tokens import manage
from newsletter_site.tokens.manage import NAMES, TokenRefusedError


class Command(BaseCommand):
    help = (
        "Tokens of the API. `create` prints the new token as its last line, this once; `list` "
        "shows what there is, never a token itself; `revoke` ends one at once."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_subparsers(dest="what", required=True, metavar="create|list|revoke")
        create = what.add_parser("create", help="make a token for a person")
        create.add_argument("person", help="whose it is, by username")
        create.add_argument("--name", required=True, help="what it is for, such as a program")
        create.add_argument(
            "--scope",
            action="append",
            required=True,
            choices=NAMES,
            metavar="SCOPE",
            help=f"what it may be used for, once for each: {', '.join(NAMES)}",
        )
        create.add_argument(
            "--expires-days", type=int, metavar="N", help="for how long (default: without an end)"
        )
        listed = what.add_parser("list", help="the tokens, newest first")
        listed.add_argument("person", nargs="?", help="of this person alone, by username")
        revoked = what.add_parser("revoke", help="have a token not be accepted any more")
        revoked.add_argument("token", type=int, help="its number, as `list` shows it")

    def handle(self, *args: Any, **options: Any) -> None:
        actions = {"create": self._create, "list": self._list, "revoke": self._revoke}
        try:
            actions[options["what"]](options)
        except TokenRefusedError as error:
            raise CommandError(str(error)) from None

    def _create(self, options: dict[str, Any]) -> None:
        new = manage.create_token(
            _user(options["person"]),
            options["name"],
            options["scope"],
            expires_days=options["expires_days"],
            from_command_line=True,
        )
        # News, not an error: the last line of the output is for programs alone.
        self.stderr.style_func = str
        self.stderr.write(
            f"Token {new.row.pk} of {new.row.user.get_username()}, for "
            f"{', '.join(new.row.scopes)}. It is shown this once; keep it as a password."
        )
        self.stdout.write(new.token)
        sys.stdout.flush()

    def _list(self, options: dict[str, Any]) -> None:
        tokens = ApiToken.objects.select_related("user").order_by("-pk")
        if options["person"]:
            tokens = tokens.filter(user=_user(options["person"]))
        now = database_time()
        for token in tokens:
            self.stdout.write(
                f"{token.pk}  {token.prefix}…  {token.user.get_username()}  “{token.name}”  "
                f"{','.join(token.scopes)}  {manage.describe_state(token, now)}"
            )

    def _revoke(self, options: dict[str, Any]) -> None:
        number = options["token"]
        owner = ApiToken.objects.filter(pk=number).values_list("user", flat=True).first()
        if owner is None:
            raise CommandError(f"There is no token {number}.")
        # Nobody is signed in here, so the log names the token's user.
        row = manage.revoke(number, owner, among=ApiToken.objects.all(), from_command_line=True)
        self.stdout.write(f"Token {row.pk} is not accepted any more.")


def _user(username: str) -> Any:
    user = get_user_model().objects.filter(username=username).first()
    if user is None:
        raise CommandError(f"There is nobody called {username!r}.")
    return user
