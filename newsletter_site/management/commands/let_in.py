"""`manage.py let_in USERNAME`: let an author try to sign in without waiting."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.urls import reverse

from newsletter_site.sign_in import known_browser, throttle, two_step_devices
from newsletter_site.sign_in.account_activity import find_author, record_operator


class Command(BaseCommand):
    help = (
        "Forget the failed sign-ins of an author, and print a link after which their browser is "
        "counted apart from others. They still need their password."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="the author's user name")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        author = find_author(username)
        if not (author.is_active and author.is_staff):
            raise CommandError(
                f"{username!r} cannot sign in: the account is not active or has no staff status. "
                "Change both in the admin."
            )
        with transaction.atomic():
            throttle.reset_failures(username)
            two_step_devices.end_pauses(author)
            record_operator("forget_failures", author)
        path = reverse("let_in", args=[known_browser.link_token(username)])
        self.stdout.write(
            f"The failures of {username} and the pauses after wrong codes are forgotten.\n"
            "If others keep failing in their network, give them this link. It works for an hour "
            "and makes their browser known. They still need their password:\n"
            f"{settings.SITE_URL}{path}"
        )
