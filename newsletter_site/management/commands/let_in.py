"""`manage.py let_in USERNAME`: lets an author in at once whose sign-in has to wait."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.urls import reverse

from newsletter_site.sign_in import attempts, known_browser, two_step_devices
from newsletter_site.sign_in.account_activity import record_from_the_command_line
from newsletter_site.sign_in.throttle_keys import hashed_name


class Command(BaseCommand):
    """Forgets the failures of a name, and prints a link that makes a browser known."""

    help = (
        "Forget the failed sign-ins of an author, and print a link after which their browser is "
        "counted apart from everybody else's. They still need their password."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whom."""
        parser.add_argument("username", help="the author's user name")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        """Do it and say so."""
        author = get_user_model().objects.filter(username=username).first()
        if author is None:
            raise CommandError(f"There is no author with the user name {username!r}.")
        if not (author.is_active and author.is_staff):
            raise CommandError(
                f"{username!r} cannot sign in whatever is counted: the account is not active or "
                "has no staff status. Both are given in the admin."
            )
        with transaction.atomic():
            attempts.forget_name(hashed_name(username))
            two_step_devices.end_pauses(author)
            record_from_the_command_line(author, "An operator forgot the failed sign-ins")
        way = reverse("let_in", args=[known_browser.link_token(username)])
        self.stdout.write(
            f"The failures of {username} are forgotten, and so are pauses after wrong codes.\n"
            "If they have to wait all the same, others fail in their network: give them this link. "
            "It is good for an hour and lets them try in peace, with their password:\n"
            f"{settings.SITE_URL}{way}"
        )
