"""`manage.py fields`: list, add, edit and delete the author's own fields."""

from argparse import ArgumentParser, BooleanOptionalAction
from typing import Any

from django.utils.translation import gettext as _

from subscribers.api import field_and_tag_calls as calls
from subscribers.management.command_options import (
    AnswerCommand,
    active_author,
    add_author_option,
    require_any,
)


class Command(AnswerCommand):
    """List the fields, or change one. The last line of the output is JSON."""

    help = _("List the fields of readers, or add, edit or delete one.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--add", metavar="LABEL", help=_("add a field with this label"))
        what.add_argument("--edit", metavar="KEY", help=_("change a field with the options below"))
        what.add_argument("--delete", metavar="KEY", help=_("delete a field and its values"))
        parser.add_argument(
            "--key", help=_("with --add: the merge field (default: made from the label)")
        )
        parser.add_argument("--label", help=_("with --edit: a new label"))
        parser.add_argument("--fallback", help=_("what readers without a value see"))
        form_help = _("ask new readers for the field when they confirm")
        parser.add_argument("--on-form", action=BooleanOptionalAction, help=form_help)
        add_author_option(parser)

    def answer(self, options: dict[str, Any]) -> calls.OwnField | calls.OwnFields | calls.Deleted:
        require_any(options, ["add"], "key")
        require_any(options, ["edit"], "label")
        require_any(options, ["add", "edit"], "fallback", "on_form")
        given = {"fallback": options["fallback"], "on_form": options["on_form"]}
        given = {name: value for name, value in given.items() if value is not None}
        if options["add"] is not None:
            field = calls.NewField(label=options["add"], key=options["key"] or "", **given)
            return calls.create_field(field, active_author(options["author"]))
        if options["edit"] is not None:
            changes = calls.FieldEdit(label=options["label"], **given)
            return calls.change_field(options["edit"], changes, active_author(options["author"]))
        if options["delete"] is not None:
            return calls.remove_field(options["delete"], active_author(options["author"]))
        return calls.all_fields()
