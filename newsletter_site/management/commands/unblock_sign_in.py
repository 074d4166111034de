"""`manage.py unblock_sign_in USERNAME`: unblock an author after failed sign-ins."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from newsletter_site.sign_in import known_browser, throttle, two_step_devices
from newsletter_site.sign_in.operator_record import find_author, record_operator


class Command(BaseCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        parser.description = _(
            "Reset the failed sign-ins of an author. Print a link that makes the author's browser "
            "known, so that failures in other browsers no longer block it. The author still needs "
            "the password."
        )
        parser.add_argument("username", help=_("the author's user name"))

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        author = find_author(username)
        if not (author.is_active and author.is_staff):
            raise CommandError(
                _(
                    "“{username}” cannot sign in: the account is not active or has no staff "
                    "status. Change both in the admin."
                ).format(username=username)
            )
        with transaction.atomic():
            throttle.reset_failures(username)
            two_step_devices.end_pauses(author)
            record_operator("forget_failures", author)
        path = reverse("unblock_sign_in", args=[known_browser.link_token(username)])
        self.stdout.write(
            _(
                "The failed sign-ins of {username} are reset, and so are the pauses after wrong "
                "codes.\n"
                "If sign-ins from their network keep failing, give them this link. It works for "
                "one hour and makes their browser known. They still need their password:"
            ).format(username=username)
        )
        self.stdout.write(f"{settings.SITE_URL}{path}")
