"""`manage.py remove_second_factor USERNAME`: remove codes and passkeys."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils.translation import gettext as _

from newsletter_site.sign_in import two_step_devices
from newsletter_site.sign_in.operator_record import find_author
from newsletter_site.sign_in.passkeys import passkey_store


class Command(BaseCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        parser.description = _(
            "Turn two-step sign-in off and delete the passkeys, for an author who lost the phone "
            "and the recovery codes. Make sure that the request comes from the author: afterwards "
            "the password is enough."
        )
        parser.add_argument("username", help=_("the author's user name"))

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        author = find_author(username)
        with transaction.atomic():
            had_codes = two_step_devices.remove(author, by_operator=True)
            had_passkeys = passkey_store.remove_all_by_operator(author)
        if not (had_codes or had_passkeys):
            raise CommandError(
                _(
                    "Nothing was changed: “{username}” does not use two-step sign-in and has no "
                    "passkeys."
                ).format(username=username)
            )
        self.stdout.write(
            _(
                "Two-step sign-in is off for {username}, their passkeys are deleted, and their "
                "sessions have ended. They can sign in with the password alone. They can set up "
                "two-step sign-in and passkeys again."
            ).format(username=username)
        )
