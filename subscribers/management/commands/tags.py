"""`manage.py tags`: list, add, edit and delete tags."""

from argparse import ArgumentParser, BooleanOptionalAction
from typing import Any

from django.utils.translation import gettext as _

from subscribers.api import field_and_tag_calls as calls
from subscribers.api.reader_bodies import tag_ids_of
from subscribers.management.command_options import (
    AnswerCommand,
    active_author,
    add_author_option,
    require_any,
)


class Command(AnswerCommand):
    """List the tags, or change one. The last line of the output is JSON."""

    help = _("List the tags of readers, or add, edit or delete one.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--add", metavar="NAME", help=_("add a tag"))
        what.add_argument("--edit", metavar="NAME", help=_("change a tag with the options below"))
        what.add_argument(
            "--delete", metavar="NAME", help=_("delete a tag and take it off all readers")
        )
        parser.add_argument("--name", help=_("with --edit: a new name"))
        topic_help = _("make the tag a topic, which readers see and choose")
        parser.add_argument("--topic", action=BooleanOptionalAction, help=topic_help)
        parser.add_argument("--description", help=_("the text that readers see beside a topic"))
        add_author_option(parser)

    def answer(self, options: dict[str, Any]) -> calls.OneTag | calls.AllTags | calls.Deleted:
        require_any(options, ["edit"], "name")
        require_any(options, ["add", "edit"], "topic", "description")
        given = {"is_topic": options["topic"], "description": options["description"]}
        given = {name: value for name, value in given.items() if value is not None}
        if options["add"] is not None:
            tag = calls.NewTag(name=options["add"], **given)
            return calls.create_tag(tag, active_author(options["author"]))
        if options["edit"] is not None:
            [number] = tag_ids_of([options["edit"]])
            changes = calls.TagEdit(name=options["name"], **given)
            return calls.change_tag(number, changes, active_author(options["author"]))
        if options["delete"] is not None:
            [number] = tag_ids_of([options["delete"]])
            return calls.remove_tag(number, active_author(options["author"]))
        return calls.all_tags()
