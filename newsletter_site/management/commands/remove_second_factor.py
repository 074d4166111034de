"""`manage.py remove_second_factor USERNAME`: the way out for whoever lost telephone and codes."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from newsletter_site.sign_in import two_step_devices


class Command(BaseCommand):
    """Takes an author's second factor away; the password alone signs in then."""

    help = (
        "Take away the second factor of an author who lost the telephone and the recovery codes. "
        "Be sure that it is they who ask: from then on the password alone signs in."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose."""
        parser.add_argument("username", help="the author's user name")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        """Do it and say so."""
        author = get_user_model().objects.filter(username=username).first()
        if author is None:
            raise CommandError(f"There is no author with the user name {username!r}.")
        if not two_step_devices.remove(author, by_operator=True):
            raise CommandError(f"{username!r} has no second factor; nothing was changed.")
        self.stdout.write(
            f"The second factor of {username} is gone, and their sessions have ended. The password "
            "alone signs in now; they can set up another one at once."
        )
