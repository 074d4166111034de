"""`manage.py publish`: publishing from a script."""

import json
import sys
import uuid
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from delivery.interface import database_time
from delivery.models import Edition, Newsletter
from delivery.reports.edition_words import ARCHIVE_ONLY, AUDIENCE_WORDS
from delivery.rules.scheduled_time import ScheduledTime
from idempotency.key import InvalidKey, read_key
from publishing.approval.approval import NeedsApprovalError
from publishing.content.edition_content import LONGEST_PART, Content, find_problems
from publishing.editions.audience import EVERYONE, NOBODY
from publishing.editions.edition_name import parse_issue_id, parse_version
from publishing.editions.versions import VersionRefusedError, overlap_warnings
from publishing.flash_messages import to_nobody
from publishing.management.edition_command import VersionedCommand
from publishing.publish.publish import (
    KeyUsedForOtherContentError,
    PublishResult,
    edition_by_key,
    has_content,
    publish,
)
from publishing.scheduling.local_time import (
    InvalidTimeError,
    parse_scheduled_time,
    scheduled_time_of,
)

# UTF-8 has at most 4 bytes for a character.
LARGEST_FILE = 4 * LONGEST_PART


class Command(VersionedCommand):
    help = (
        "Publish an issue to everyone who is confirmed; with --issue and --version, the next "
        "version of one. The last line is JSON."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--title", required=True, help="becomes the subject")
        parser.add_argument(
            "--preheader",
            default="",
            metavar="TEXT",
            help="what an inbox shows beside the subject (default: the letter's first words)",
        )
        parser.add_argument("--html-file", type=Path, help="the HTML part, UTF-8")
        parser.add_argument("--text-file", type=Path, help="the text part, UTF-8")
        parser.add_argument("--issue", metavar="ID", help="the issue of which this is a version")
        parser.add_argument(
            "--version",
            metavar="N",
            help="its next version; one that is there already sends nothing and is printed",
        )
        parser.add_argument(
            "--goes-to",
            choices=list(AUDIENCE_WORDS),
            help="everyone: all readers confirmed now (the default). reached: those of them who "
            "were sent an earlier version. unreached: those whom no version has reached (the "
            "default after a cancelled version). nobody: only the archive changes",
        )
        parser.add_argument(
            "--unlisted",
            action="store_true",
            help="keep the issue out of the archive's lists and of the feed; its page stays",
        )
        parser.add_argument("--author", help="username (default: the only superuser)")
        parser.add_argument(
            "--idempotency-key",
            help="publishing again under the same key returns what is there (default: a fresh one)",
        )
        parser.add_argument(
            "--hold",
            default=str(settings.PUBLISH_HOLD_S),
            help="seconds before the first copy leaves (default: PUBLISH_HOLD_S, now %(default)s)",
        )

        parser.add_argument(
            "--at",
            metavar="TIME",
            help="when it goes out, such as “2026-10-25 07:30”, to everyone confirmed by then "
            "(default: now). It is not held on top of that",
        )
        parser.add_argument(
            "--zone",
            help="the zone of that time, such as Europe/Lisbon (default: the newsletter's)",
        )
        parser.add_argument(
            "--second",
            action="store_true",
            help="the second of the two moments that a time names when the clocks go back",
        )
        parser.add_argument("--first", action="store_true", help="the first of them")

    def handle(self, *args: Any, **options: Any) -> None:
        content = Content.from_input(
            _utf8("--title", options["title"]),
            _read(options["html_file"]),
            _read(options["text_file"]),
            _utf8("--preheader", options["preheader"]),
        )
        problems = find_problems(content)
        if problems:
            raise CommandError(" ".join(problem.sentence for problem in problems))
        issue, version = _version(options["issue"], options["version"], options["goes_to"])
        goes_to = options["goes_to"]
        author, key = _author(options["author"]), _key(options["idempotency_key"])
        try:
            published = publish(
                author,
                key,
                content,
                hold_s=_seconds(options["hold"]),
                issue=issue,
                version=version,
                goes_to=goes_to,
                unlisted=options["unlisted"],
                at=_moment(options, is_known=edition_by_key(author, key) is not None),
            )
        except (KeyUsedForOtherContentError, NeedsApprovalError, VersionRefusedError) as error:
            raise CommandError(str(error)) from None
        edition = published.edition
        for sentence in _remarks(published, content, goes_to, unlisted=options["unlisted"]):
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
    published: PublishResult, content: Content, goes_to: str | None, *, unlisted: bool
) -> list[str]:
    edition = published.edition
    sentences = []
    if not published.created and not has_content(edition, content):
        sentences.append(
            f"Version {edition.version} of “{edition.title}” is there already, with other content; "
            "nothing was sent and nothing was changed."
        )
    if not published.created and edition.goes_to != (goes_to or EVERYONE):
        goes = "goes" if edition.control == Edition.Control.SCHEDULED else "went"
        sentences.append(f"Version {edition.version} {goes} to {AUDIENCE_WORDS[edition.goes_to]}.")
    if not published.created and unlisted and not edition.issue.unlisted:
        sentences.append(f"“{edition.title}” is listed in the archive and stays so.")
    if edition.control == Edition.Control.SCHEDULED:
        sentences.append(_scheduled_sentence(edition))
    elif not edition.audience:
        sentences.append(str(ARCHIVE_ONLY) if edition.goes_to == NOBODY else to_nobody(edition))
    if published.created and edition.version > 1:
        sentences += overlap_warnings(edition.issue_id, edition.version, edition.goes_to)
    return sentences


def _version(
    issue: str | None, version: object, goes_to: str | None
) -> tuple[uuid.UUID | None, int | None]:
    if issue is None:
        for option, given in (("--version", version), ("--goes-to", goes_to)):
            if given not in (None, EVERYONE, NOBODY):
                raise CommandError(f"{option} is about an issue that exists; name it with --issue.")
        return None, None
    try:
        return parse_issue_id(str(issue)), parse_version(None if version is None else str(version))
    except ValueError as error:
        raise CommandError(str(error)) from None


def _read(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        # A device has no size and never ends.
        with path.open("rb") as file:
            found = file.read(LARGEST_FILE + 1)
        if len(found) > LARGEST_FILE:
            raise CommandError(f"{path} is larger than any part may be ({LARGEST_FILE:,} bytes).")
        return found.decode("utf-8-sig")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path} is not UTF-8; save it as UTF-8 and try again.") from None


def _utf8(option: str, given: str) -> str:
    """Return an option's text. Bytes that are not UTF-8 arrive as lone surrogates."""
    try:
        given.encode()
    except UnicodeEncodeError:
        raise CommandError(f"{option} is {given!a}, which is not UTF-8; give UTF-8.") from None
    return given


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
        raise CommandError(f"--hold is {given!r}; expected seconds from 0 to a year, such as 30.")
    return seconds


def _moment(options: dict[str, Any], *, is_known: bool) -> ScheduledTime | None:
    """Return when it goes out; None for now. A known key accepts a time in the past."""
    local = options["at"]
    if local is None:
        for name in ("zone", "first", "second"):
            if options[name]:
                raise CommandError(f"--{name} is about a time; name it with --at.")
        return None
    if options["first"] and options["second"]:
        raise CommandError("--first and --second are both given; the issue goes out once.")
    which = "second" if options["second"] else "first" if options["first"] else ""
    zone = options["zone"] or Newsletter.objects.get_current().time_zone
    try:
        now = None if is_known else database_time()
        return parse_scheduled_time(_utf8("--at", local), _utf8("--zone", zone), which, now=now)
    except InvalidTimeError as refused:
        hint = " Add --first or --second." if refused.choices else ""
        raise CommandError(f"{refused.sentence}{hint}") from None


def _author(username: str | None) -> uuid.UUID:
    users = get_user_model().objects.filter(is_active=True)
    if username is not None:
        author = users.filter(username=_utf8("--author", username)).first()
        if author is None:
            raise CommandError(f"There is no active author called {username!r}.")
        return author.pk
    superusers = list(users.filter(is_superuser=True)[:2])
    if len(superusers) != 1:
        found = "no superuser" if not superusers else "more than one superuser"
        raise CommandError(f"There is {found}; name the author with --author USERNAME.")
    return superusers[0].pk


def _scheduled_sentence(edition: Edition) -> str:
    moment = scheduled_time_of(edition)
    when = moment.words if moment else "at its time"
    if edition.goes_to == NOBODY:
        return f"Scheduled. It appears in the archive {when} and is not mailed."
    return (
        f"Scheduled. It goes out {when}, to {AUDIENCE_WORDS[edition.goes_to]} by then. Until then "
        "it can be called back."
    )
