"""`token create|list|revoke`: manage API tokens from the command line."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from delivery.interface import database_time
from newsletter_site.models import ApiToken
from newsletter_site.sign_in.operator_record import find_author
from newsletter_site.tokens import api_tokens
from newsletter_site.tokens.api_tokens import NAMES, TokenRefusedError


class Command(BaseCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.description = _(
            "Manage API tokens. `create` prints the new token as its last line, only once. `list` "
            "shows all tokens without their secret part. `revoke` ends a token at once."
        )
        what = parser.add_subparsers(dest="what", required=True, metavar="create|list|revoke")
        create = what.add_parser("create", help=_("create a token for a user"))
        create.add_argument("username", help=_("the user name of the token's owner"))
        create.add_argument(
            "--name", required=True, help=_("the name, such as the program that uses the token")
        )
        create.add_argument(
            "--scope",
            action="append",
            required=True,
            choices=NAMES,
            metavar="SCOPE",
            help=_("what the token is for; repeat it for several scopes: {scopes}").format(
                scopes=", ".join(NAMES)
            ),
        )
        create.add_argument(
            "--expires-days",
            type=int,
            metavar="N",
            help=_("days until the token expires (default: no expiry)"),
        )
        listed = what.add_parser("list", help=_("list tokens, newest first"))
        listed.add_argument("username", nargs="?", help=_("list only the tokens of this user"))
        revoked = what.add_parser("revoke", help=_("revoke a token"))
        revoked.add_argument("token", type=int, help=_("the token's number, as `list` shows it"))

    def handle(self, *args: Any, **options: Any) -> None:
        actions = {"create": self._create, "list": self._list, "revoke": self._revoke}
        try:
            actions[options["what"]](options)
        except TokenRefusedError as error:
            raise CommandError(str(error)) from None

    def _create(self, options: dict[str, Any]) -> None:
        new = api_tokens.create_token(
            find_author(options["username"]),
            options["name"],
            options["scope"],
            expires_days=options["expires_days"],
            from_command_line=True,
        )
        # Show this text without the colour of errors. The text goes to stderr, because programs
        # read the last line of stdout.
        self.stderr.style_func = str
        self.stderr.write(
            _(
                "Created token {id} of {username} for {scopes}. It is shown only once. Keep it as "
                "safe as a password."
            ).format(
                id=new.row.pk,
                username=new.row.user.get_username(),
                scopes=", ".join(new.row.scopes),
            )
        )
        self.stdout.write(new.token)
        sys.stdout.flush()

    def _list(self, options: dict[str, Any]) -> None:
        tokens = ApiToken.objects.select_related("user").order_by("-pk")
        if options["username"]:
            tokens = tokens.filter(user=find_author(options["username"]))
        now = database_time()
        for token in tokens:
            self.stdout.write(
                f"{token.pk}  {token.prefix}…  {token.user.get_username()}  “{token.name}”  "
                f"{','.join(token.scopes)}  {api_tokens.describe_state(token, now)}"
            )

    def _revoke(self, options: dict[str, Any]) -> None:
        number = options["token"]
        owner = ApiToken.objects.filter(pk=number).values_list("user", flat=True).first()
        if owner is None:
            raise CommandError(_("Token {id} does not exist.").format(id=number))
        # Nobody is signed in here, so the activity log names the token's owner.
        row = api_tokens.revoke(number, owner, among=ApiToken.objects.all(), from_command_line=True)
        self.stdout.write(_("Token {id} was revoked.").format(id=row.pk))
