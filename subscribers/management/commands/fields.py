"""`manage.py fields`: list, add, edit and delete the author's own fields."""

from argparse import ArgumentParser, BooleanOptionalAction
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from api.problem import ProblemError
from subscribers.api import field_and_tag_bodies as bodies
from subscribers.management.command_options import (
    active_author,
    add_author_option,
    require_any,
    require_utf8,
)


class Command(BaseCommand):
    """List the fields, or change one. The last line is JSON."""

    help = _("List the fields of readers, or add, edit or delete one.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--add", metavar="LABEL", help=_("add a field with this label"))
        what.add_argument("--edit", metavar="KEY", help=_("change a field with the options below"))
        what.add_argument("--delete", metavar="KEY", help=_("delete a field and its values"))
        parser.add_argument(
            "--key",
            help=_("with --add: the merge field (default: made from the label)"),
        )
        parser.add_argument("--label", help=_("with --edit: a new label"))
        parser.add_argument("--fallback", help=_("what readers without a value see"))
        form_help = _("ask for the field on the sign-up form")
        parser.add_argument("--on-form", action=BooleanOptionalAction, help=form_help)
        add_author_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        require_utf8(options)
        require_any(options, ["add"], "key")
        require_any(options, ["edit"], "label")
        require_any(options, ["add", "edit"], "fallback", "on_form")
        given = {"fallback": options["fallback"], "on_form": options["on_form"]}
        given = {name: value for name, value in given.items() if value is not None}
        answer: bodies.OwnField | bodies.OwnFields | bodies.Deleted
        try:
            if options["add"] is not None:
                field = bodies.NewField(label=options["add"], key=options["key"] or "", **given)
                answer = bodies.add_field(field, active_author(options["author"]))
            elif options["edit"] is not None:
                changes = bodies.FieldEdit(label=options["label"], **given)
                answer = bodies.edit_field(
                    options["edit"], changes, active_author(options["author"])
                )
            elif options["delete"] is not None:
                answer = bodies.delete_field(options["delete"], active_author(options["author"]))
            else:
                answer = bodies.all_fields()
        except ProblemError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(answer.model_dump_json())
