"""`manage.py remove_second_factor USERNAME`: switch two-step sign-in off for an author."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from newsletter_site.sign_in import two_step_devices
from newsletter_site.sign_in.account_activity import find_author


class Command(BaseCommand):
    help = (
        "Switch two-step sign-in off for an author who lost the phone and the recovery codes. "
        "Make sure that the author is asking: from then on the password is enough."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="the author's user name")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        author = find_author(username)
        if not two_step_devices.remove(author, by_operator=True):
            raise CommandError(f"{username!r} does not use two-step sign-in; nothing was changed.")
        self.stdout.write(
            f"Two-step sign-in of {username} is off, and their sessions have ended. The password "
            "is enough now. They can set it up again at once."
        )
