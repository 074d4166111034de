"""`manage.py remove_second_factor USERNAME`: switch two-step sign-in off for an author."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from newsletter_site.sign_in import two_step_devices


class Command(BaseCommand):
    help = (
        "Switch two-step sign-in off for an author who lost the phone and the recovery codes. "
        "Make sure that the author is asking: from then on the password is enough."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="the author's user name")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        author = get_user_model().objects.filter(username=username).first()
        if author is None:
            raise CommandError(f"There is no author with the user name {username!r}.")
        if not two_step_devices.remove(author, by_operator=True):
            raise CommandError(f"{username!r} does not use two-step sign-in; nothing was changed.")
        self.stdout.write(
            f"Two-step sign-in of {username} is off, and their sessions have ended. The password "
            "is enough now. They can set it up again at once."
        )
