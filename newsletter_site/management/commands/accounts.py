"""`manage.py accounts list|add|group|disable|enable`: who may sign in."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from newsletter_site.authors.account_commands import (
    add_account,
    change_groups,
    describe,
    find_groups,
    set_active,
)
from newsletter_site.models import User


class Command(BaseCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.description = _(
            "List, add, group, disable and enable accounts. Groups give permissions "
            "(docs/permissions.md). The last line is JSON. `createsuperuser` adds an account that "
            "may do everything, and `changepassword` changes a password."
        )
        what = parser.add_subparsers(
            dest="what", required=True, metavar="list|add|group|disable|enable"
        )
        what.add_parser("list", help=_("list all accounts"))
        added = what.add_parser("add", help=_("add an account that can sign in"))
        added.add_argument("--email", default="", help=_("its mail address"))
        added.add_argument(
            "--password-stdin",
            action="store_true",
            help=_("read the password from the first line of stdin (default: no password yet)"),
        )
        grouped = what.add_parser("group", help=_("change the groups of an account"))
        for_remove = _("remove it from this group; repeat it for several")
        grouped.add_argument(
            "--remove", action="append", default=[], metavar="GROUP", help=for_remove
        )
        for_add = _("add it to this group; repeat it for several")
        for one, option in ((added, "--group"), (grouped, "--add")):
            one.add_argument(
                option, dest="add", action="append", default=[], metavar="GROUP", help=for_add
            )
        disabled = what.add_parser(
            "disable", help=_("refuse an account's sign-ins, sessions and API tokens at once")
        )
        enabled = what.add_parser("enable", help=_("let a disabled account sign in again"))
        for one in (added, grouped, disabled, enabled):
            one.add_argument("username", help=_("the user name"))

    def handle(self, *args: Any, **options: Any) -> None:
        if options["what"] == "list":
            accounts = list(User.objects.prefetch_related("groups").order_by("username"))
            for account in accounts:
                self.stdout.write(_line(account))
            self._print({"accounts": [describe(account) for account in accounts]})
            return
        account = self._change(options["what"], options["username"], options)
        self.stdout.write(_line(account))
        self._print(describe(account))

    def _change(self, what: str, username: str, options: dict[str, Any]) -> User:
        if what == "add":
            groups, password = find_groups(options["add"]), None
            if options["password_stdin"]:
                password = sys.stdin.readline().rstrip("\r\n")
            added = add_account(username, options["email"], groups, password)
            if password is None:
                self.stderr.style_func = (
                    str  # Django colours stderr as an error, but this line names the next step.
                )
                sentence = _("It has no password yet. Run ./homing changepassword {name}.")
                self.stderr.write(sentence.format(name=username))
            return added
        if what == "group":
            add, remove = find_groups(options["add"]), find_groups(options["remove"])
            if not (add or remove):
                raise CommandError(_("Nothing to change. Give --add GROUP or --remove GROUP."))
            return change_groups(username, add, remove)
        return set_active(username, is_active=what == "enable")

    def _print(self, answer: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(answer, ensure_ascii=False))
        self.stdout.flush()


def _line(account: User) -> str:
    groups = ", ".join(describe(account)["groups"]) or _("no group")
    state = _("active") if account.is_active else _("disabled")
    if account.is_superuser:
        state = _("{state}, may do everything").format(state=state)
    return f"{account.username}  {state}  {groups}"
