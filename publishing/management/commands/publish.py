"""The command `publish`: publish an issue from a script."""

import json
import sys
import uuid
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from delivery.interface import database_time
from delivery.models import Edition, Newsletter
from delivery.reports.edition_sentences import ARCHIVE_ONLY, AUDIENCE_WORDS
from delivery.rules.scheduled_time import ScheduledTime
from idempotency.key import InvalidKey, read_key
from publishing.approval.record_approval import NeedsApprovalError
from publishing.content.edition_content import Content
from publishing.editions.archive_visibility import archive_sentence
from publishing.editions.audience import (
    EVERYONE,
    NOBODY,
    TagChoice,
    edition_audience,
    unknown_tag_sentence,
)
from publishing.editions.find_edition import parse_issue_id, parse_version
from publishing.editions.issue_address import exact_address, is_at
from publishing.editions.versions import VersionRefusedError, overlap_warnings
from publishing.flash_messages import to_nobody
from publishing.management.command_bases import VersionedCommand
from publishing.management.content_options import add_content_options, content_of_options
from publishing.models import Visibility
from publishing.publish.publish_edition import (
    KeyUsedForOtherContentError,
    PublishOptions,
    PublishResult,
    edition_by_key,
    has_content,
    its_address,
    publish,
)
from publishing.scheduling.local_time import (
    InvalidTimeError,
    parse_scheduled_time,
    scheduled_for,
)
from subscribers.fields.find_tags import UnknownTagError, find_tags
from subscribers.management.command_options import (
    active_author,
    add_author_option,
    as_command_error,
    decoded_option,
)


class Command(VersionedCommand):
    help = gettext_noop(
        "Publish an issue to all confirmed readers, or the next version of an issue with --issue "
        "and --version. The last line of the output is JSON."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_content_options(parser, needs_title=True)
        parser.add_argument("--issue", metavar="ID", help=_("the issue that gets a new version"))
        parser.add_argument(
            "--version",
            metavar="N",
            help=_("the next version; an existing version is printed and nothing is sent"),
        )
        parser.add_argument(
            "--goes-to",
            choices=list(AUDIENCE_WORDS),
            help=_(
                "everyone: all readers confirmed now (the default). reached: only those who were "
                "sent an earlier version. unreached: only those who got no version (the default "
                "after a cancelled version). nobody: only the archive changes"
            ),
        )
        for option, words in (
            ("--tag", _("only readers with this tag, or with any of them if you repeat it")),
            ("--without-tag", _("no readers with this tag; you can repeat it")),
        ):
            parser.add_argument(
                option, action="append", metavar="TAG", dest=option.strip("-"), help=words
            )
        where = parser.add_mutually_exclusive_group()
        for option, value, words in (
            ("--listed", Visibility.PUBLIC, _("show the issue in the archive and the feed")),
            (
                "--unlisted",
                Visibility.UNLISTED,
                _(
                    "hide the issue from the archive, the feed and search engines; keep its page "
                    "(the default if tags limit the readers)"
                ),
            ),
            ("--not-in-archive", Visibility.NONE, _("give the issue no page on the web")),
        ):
            where.add_argument(
                option, action="store_const", const=value.value, dest="archive", help=words
            )
        parser.add_argument(
            "--address",
            metavar="WORDS",
            help=_(
                "the last part of the issue's address, such as tide-tables, in any script; until "
                "a copy leads to it (default: from the title)"
            ),
        )
        parser.add_argument(
            "--without-note",
            action="store_true",
            help=_("with --goes-to nobody: hide from readers that the page was corrected"),
        )
        add_author_option(parser)
        parser.add_argument(
            "--idempotency-key",
            help=_("a repetition with the same key publishes nothing (default: a new key)"),
        )
        parser.add_argument(
            "--hold",
            default=str(settings.PUBLISH_HOLD_S),
            help=_("seconds before sending starts (default: PUBLISH_HOLD_S, now %(default)s)"),
        )
        parser.add_argument(
            "--at",
            metavar="TIME",
            help=_(
                "when it goes out, such as “2026-10-25 07:30”, to the readers confirmed by then "
                "(default: now). A scheduled issue has no hold"
            ),
        )
        parser.add_argument(
            "--zone",
            help=_("the zone of that time, such as Europe/Lisbon (default: the newsletter's)"),
        )
        which = parser.add_mutually_exclusive_group()
        for name, words in (
            ("first", _("the first moment, if the time occurs twice")),
            ("second", _("the second moment, if the clocks go back and the time occurs twice")),
        ):
            which.add_argument(
                f"--{name}", action="store_const", const=name, default="", dest="which", help=words
            )

    @as_command_error(KeyUsedForOtherContentError, NeedsApprovalError, VersionRefusedError)
    def handle(self, *args: Any, **options: Any) -> None:
        content = content_of_options(options)
        issue, version = _version(options["issue"], options["version"])
        goes_to, address = options["goes_to"], _address(options["address"], issue)
        author, key = active_author(options["author"]), _key(options["idempotency_key"])
        published = publish(
            author,
            key,
            content,
            PublishOptions(
                issue=issue,
                version=version,
                goes_to=goes_to,
                archive=options["archive"] or "",
                without_note=options["without_note"],
                tags=_tags(options),
                at=_moment(options, is_known=edition_by_key(author, key) is not None),
                address=address,
            ),
            hold_s=_seconds(options["hold"]),
        )
        edition = published.edition
        for sentence in _remarks(published, content, goes_to, options["archive"], address):
            self.stderr.write(sentence)
        result = {
            "issue": str(edition.issue_id),
            "version": edition.version,
            "audience": edition.audience,
            "created": published.created,
        }
        self.stdout.write(json.dumps(result))
        sys.stdout.flush()


def _remarks(
    published: PublishResult,
    content: Content,
    goes_to: str | None,
    archive: str | None,
    address: str,
) -> list[str]:
    edition = published.edition
    sentences = []
    if not published.created and not has_content(edition, content):
        sentences.append(
            _(
                "Version {version} of “{title}” already exists with other content. Nothing was "
                "sent and nothing was changed."
            ).format(version=edition.version, title=edition.title)
        )
    has_tags = bool(edition.with_tags or edition.without_tags)
    if has_tags or not (published.created or edition.goes_to == (goes_to or EVERYONE)):
        if published.created or edition.control == Edition.Control.SCHEDULED:
            sentence = _("Version {version} goes to {whom}.")
        else:
            sentence = _("Version {version} went to {whom}.")
        whom = edition_audience(edition)
        sentences.append(sentence.format(version=edition.version, whom=whom))
    stays_listed = edition.issue.visibility is Visibility.PUBLIC
    if not published.created and archive not in (None, Visibility.PUBLIC) and stays_listed:
        sentences.append(
            _("“{title}” is listed in the archive and stays listed.").format(title=edition.title)
        )
    if address and not is_at(edition, address):
        sentences.append(its_address(edition))
    if published.created and archive is None and edition.with_tags + edition.without_tags:
        sentences.append(archive_sentence(edition.issue.visibility))
    if edition.control == Edition.Control.SCHEDULED:
        sentences.append(_scheduled_sentence(edition))
    elif not edition.audience:
        sentences.append(str(ARCHIVE_ONLY) if edition.goes_to == NOBODY else to_nobody(edition))
    if published.created and edition.version > 1:
        sentences += overlap_warnings(edition.issue_id, edition.version, edition.goes_to)
    return sentences


@as_command_error(ValueError)
def _version(issue: str | None, version: object) -> tuple[uuid.UUID | None, int | None]:
    return (
        None if issue is None else parse_issue_id(str(issue)),
        parse_version(None if version is None else str(version)),
    )


@as_command_error(ValueError)
def _address(given: str | None, issue: uuid.UUID | None) -> str:
    return "" if given is None else exact_address(decoded_option("--address", given), issue)


def _tags(options: dict[str, Any]) -> TagChoice | None:
    """Return the tags that limit the audience; None if no option names a tag."""
    names = options["tag"], options["without-tag"]
    if names == (None, None):
        return None
    try:
        return TagChoice(*(find_tags(each or ()) for each in names))
    except UnknownTagError as error:
        raise CommandError(unknown_tag_sentence(error)) from None


def _key(given: str | None) -> str:
    if given is None:
        return uuid.uuid4().hex
    key = read_key([given], None)
    if isinstance(key, InvalidKey):
        raise CommandError(key.reason)
    return key


def _seconds(given: str) -> float:
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 31_536_000:
        raise CommandError(
            _("--hold is “{value}”; expected seconds from 0 to a year, such as 30.").format(
                value=given
            )
        )
    return seconds


def _moment(options: dict[str, Any], *, is_known: bool) -> ScheduledTime | None:
    """Return when the issue is to be sent; None means now.

    If an earlier command used the same key, the time may be in the past.
    """
    local = options["at"]
    if local is None:
        for option in (options["zone"] and "zone", options["which"]):
            if option:
                raise CommandError(
                    _("{option} needs a time. Name it with --at.").format(option=f"--{option}")
                )
        return None
    zone = options["zone"] or Newsletter.objects.get_current().time_zone
    try:
        now = None if is_known else database_time()
        return parse_scheduled_time(
            decoded_option("--at", local),
            decoded_option("--zone", zone),
            options["which"],
            now=now,
        )
    except InvalidTimeError as refused:
        if refused.choices:
            raise CommandError(
                " ".join((refused.sentence, _("Add --first or --second.")))
            ) from None
        raise CommandError(refused.sentence) from None


def _scheduled_sentence(edition: Edition) -> str:
    time = scheduled_for(edition)
    if edition.goes_to == NOBODY:
        return _("Scheduled for {time}. Its page appears then, and it is not mailed.").format(
            time=time
        )
    return _("Scheduled for {time}, to {whom}. You can call it back until then.").format(
        time=time, whom=edition_audience(edition)
    )
