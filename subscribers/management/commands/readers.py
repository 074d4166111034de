"""`manage.py readers ADDRESS`: show, add, edit or move one reader."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from api.schema import ResponseBody
from delivery.reader_fields import FIELD_NAMES
from subscribers.api.reader_bodies import address_of, reader_responses, tag_ids_of, values_of
from subscribers.desk.add_or_edit_reader import add_reader, correct_address, edit_reader
from subscribers.desk.reader_actions import ACTIONS, perform_action
from subscribers.management.command_options import (
    AnswerCommand,
    active_author,
    add_author_option,
    require_any,
)
from subscribers.models import Subscriber, Suppression
from subscribers.models.reader_change import LONGEST_REASON
from subscribers.refusal_sentences import InputRefusal, sentence_of
from subscribers.suppression_sentences import why_suppressed


class Command(AnswerCommand):
    """Make the change, if any, and print the reader as one line of JSON."""

    help = _(
        "Show a reader, add one, edit the fields and tags, correct the address, or lift a bounce."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("address", metavar="ADDRESS", help=_("the reader’s address"))
        what = parser.add_mutually_exclusive_group()
        add_help = _("add the reader; Homing sends them a link to confirm")
        what.add_argument("--add", action="store_true", default=None, help=add_help)
        move_help = _("correct the address; Homing sends a link to confirm to the new one")
        what.add_argument("--new-address", metavar="ADDRESS", help=move_help)
        lift_help = _("lift a bounce for this reason, which is recorded")
        what.add_argument("--lift-bounce", metavar="REASON", help=lift_help)
        consent_help = _(
            "with --add: where and how they consented; then they are confirmed at once"
        )
        parser.add_argument("--consent", metavar="TEXT", help=consent_help)
        parser.add_argument(
            "--field",
            metavar="KEY=VALUE",
            action="append",
            default=[],
            help=_("set a field (KEY= empties it), or the name with name=VALUE; repeatable"),
        )
        for option, words in (("--tag", _("put this tag on")), ("--untag", _("take this tag off"))):
            parser.add_argument(option, metavar="TAG", action="append", default=[], help=words)
        add_author_option(parser)

    def answer(self, options: dict[str, Any]) -> ResponseBody:
        require_any(options, ["add"], "consent")
        if options["add"] and options["untag"]:
            raise CommandError(_("--add takes no --untag."))
        changes = options["field"] or options["tag"] or options["untag"]
        for option in ("new_address", "lift_bounce"):
            if options[option] is not None and changes:
                sentence = _("{option} takes no --field, --tag or --untag.")
                raise CommandError(sentence.format(option=f"--{option.replace('_', '-')}"))
        return reader_responses([self._change(options)])[0]

    def _change(self, options: dict[str, Any]) -> Subscriber:
        address, values = address_of(options["address"]), _values(options["field"])
        added, removed = tag_ids_of(options["tag"]), tag_ids_of(options["untag"])
        if options["add"]:
            return _add(address, values, added, options)
        readers = Subscriber.objects.filter(email_key=address.lower())
        # Lock the reader, because this change could remove a topic that the reader chooses at the
        # same time.
        reader = (readers.select_for_update() if added or removed else readers).first()
        if reader is None:
            raise CommandError(_no_reader(address))
        if options["new_address"] is not None:
            by = active_author(options["author"])
            moved = correct_address(reader.pk, address_of(options["new_address"]), by=by)
            if isinstance(moved, InputRefusal):
                raise CommandError(sentence_of(moved))
            return moved
        if options["lift_bounce"] is not None:
            _lift_bounce(reader, options["lift_bounce"], active_author(options["author"]))
            reader.refresh_from_db()
        if values or added or removed:
            by = active_author(options["author"])
            tag_ids_of(options["tag"], left=reader.left_topics)
            tags = [*{*reader.tags, *added} - {*removed}] if added or removed else None
            edit_reader(reader.pk, values, tags, by=by)
            reader.refresh_from_db()
        return reader


def _add(
    address: str, values: dict[str, str], tags: Sequence[int], options: dict[str, Any]
) -> Subscriber:
    by = active_author(options["author"])
    consent = " ".join((options["consent"] or "").split())
    if options["consent"] is not None and not consent:
        raise CommandError(_("--consent is empty. State where and how they consented."))
    result = add_reader(
        address,
        values,
        by=get_user_model().objects.get(pk=by),
        consent=consent,
        tags=tags,
        source=Subscriber.Source.DESK,
    )
    if result.reader is None or result.result != "added":
        known = _("This reader is already on the list. Nothing changed.")
        raise CommandError(sentence_of(result.reason) if result.reason else known)
    return result.reader


def _lift_bounce(reader: Subscriber, text: str, by: UUID) -> None:
    reason = " ".join(text.split())
    if not 0 < len(reason) <= LONGEST_REASON:
        sentence = _("--lift-bounce needs a reason of 1 to {most} characters. It is recorded.")
        raise CommandError(sentence.format(most=LONGEST_REASON))
    if not perform_action(ACTIONS["lift-bounce"], reader.pk, by, reason):
        raise CommandError(
            _(
                "There is no bounce to lift. A complaint, an unsubscribe or an author’s block "
                "cannot be lifted this way."
            )
        )


def _no_reader(address: str) -> str:
    sentence = _("No reader has this address.")
    found = Suppression.objects.filter(address_key=address.lower(), lifted_at=None).first()
    if found is None:
        return sentence
    why = _("It is suppressed: {why}.").format(why=why_suppressed(found.reason, found.origin))
    return f"{sentence} {why}"


def _values(pairs: Sequence[str]) -> dict[str, str]:
    """Read KEY=VALUE pairs, or raise `CommandError` or `ProblemError`."""
    given: dict[str, str] = {}
    for pair in pairs:
        key, is_pair, value = pair.partition("=")
        if not is_pair:
            raise CommandError(_("{pair} is not KEY=VALUE, such as city=York.").format(pair=pair))
        given[key.strip()] = value
    flat = {key: value for key, value in given.items() if key in FIELD_NAMES}
    return values_of(flat, {key: given[key] for key in given if key not in flat})
