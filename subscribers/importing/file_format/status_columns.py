"""Find the status of each row, by the columns of a known product or by headers.

If a row has several statuses, the most serious status counts. A row without a status is
unconfirmed, because silence is not consent.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from django.utils.translation import gettext_noop

from subscribers.importing.file_format.date_cell import is_no_date, latest_date, looks_like_date
from subscribers.importing.file_format.header_words import key, keys
from subscribers.refusal_sentences import InputRefusal, refuse


class Status(StrEnum):
    """The status of a reader in a file; more serious values come later.

    `UNSTATED` means that the file's word describes the reader, but not the subscription.
    """

    UNSTATED = "unstated"
    SUBSCRIBED = "subscribed"
    UNCONFIRMED = "unconfirmed"
    BLOCKED = "blocked"
    BOUNCED = "bounced"
    UNSUBSCRIBED = "unsubscribed"
    COMPLAINED = "complained"

    @property
    def is_gone(self) -> bool:
        return self not in (Status.UNSTATED, Status.SUBSCRIBED, Status.UNCONFIRMED)


_GRAVITY = {status: at for at, status in enumerate(Status)}
# The status that a cell means, or the reason for rejecting the row. None means that the cell says
# nothing about the status.
Verdict = Status | InputRefusal | None
Words = Mapping[str, Verdict]


class RowStatus(NamedTuple):
    """A row's status, and when the reader left.

    If the date cannot be read, `left_at` is UNREADABLE_DATE, which is in the future.
    """

    status: Status
    left_at: datetime | None = None


def _words(**statuses: str) -> dict[str, Verdict]:
    return {
        key(word): Status(status) for status, words in statuses.items() for word in words.split(",")
    }


YES = ("true", "t", "yes", "y", "1", "wahr", "ja", "vrai", "oui", "verdadero", "vero")
NO = ("false", "f", "no", "n", "0", "falsch", "nein", "faux", "non", "falso")


def _flag(yes: Verdict, no: Verdict) -> dict[str, Verdict]:
    return {**dict.fromkeys(YES, yes), **dict.fromkeys(NO, no)}


_KNOWN: Words = _words(
    subscribed="subscribed,active,confirmed,opted in,opt in,double opt in,soft bounced,"
    "abonné,inscrit,angemeldet",
    unstated="enabled",
    unconfirmed="unconfirmed,not confirmed,pending,unactivated,validating,needs approval,"
    "needs attention",
    unsubscribed="unsubscribe,unsubscribed,cancelled,canceled,opted out,opt out,"
    "désabonné,désinscrit,abgemeldet",
    bounced="bounce,bounced,hard bounce,hard bounced,cleaned,undeliverable,invalid",
    complained="complained,complaint,spam,spam complaint,marked as spam,junk,abuse",
    blocked="blocked,blocklisted,blacklisted,disabled,suppressed,manual suppression,banned",
)
_IS_SUBSCRIBED = {**_KNOWN, **_flag(Status.SUBSCRIBED, Status.UNSUBSCRIBED)}
_IS_CONFIRMED = {**_KNOWN, **_flag(Status.SUBSCRIBED, Status.UNCONFIRMED)}
_HAS_LEFT = {**_KNOWN, **_flag(Status.UNSUBSCRIBED, Status.SUBSCRIBED)}
_HAS_BOUNCED = {**_KNOWN, **_flag(Status.BOUNCED, None)}
_HAS_COMPLAINED = {**_KNOWN, **_flag(Status.COMPLAINED, None)}
_BUTTONDOWN: Words = {
    **_words(
        subscribed="regular,premium,gifted,trialed,churning,churned,past due,paused,upcoming",
        unconfirmed="unactivated",
        unsubscribed="unsubscribed",
        bounced="undeliverable",
        complained="complained",
        blocked="blocked,removed",
    ),
    "unpaid": refuse("status_unpaid"),
}


class _Product(NamedTuple):
    name: str
    words: Words = _KNOWN
    silence: Status | InputRefusal = Status.UNCONFIRMED
    hidden: str = ""  # a code for missing information (import_sentences.py)


# The names of products are part of an import's hash, so they are stored in English.
_MAILCHIMP = gettext_noop("Mailchimp audience")
_NO_PRODUCT = _Product("")
_SUBSTACK = _Product(gettext_noop("Substack email list"), hidden="substack")
_DASHBOARD = _Product(gettext_noop("Substack dashboard"), hidden="substack_dashboard")
_GHOST = _Product(gettext_noop("Ghost members"), hidden="ghost")
_BUTTONDOWN_FILE = _Product(gettext_noop("Buttondown subscribers"), _BUTTONDOWN)
_BEEHIIV = _Product(
    gettext_noop("Beehiiv subscribers"), {**_KNOWN, "inactive": Status.UNSUBSCRIBED}
)
_KIT = _Product(
    gettext_noop("Kit subscribers"),
    {**_KNOWN, "inactive": Status.UNCONFIRMED, "cold": Status.SUBSCRIBED},
)
_HOMING = _Product(gettext_noop("Homing readers"))
_HOMING_SUPPRESSIONS = _Product(
    gettext_noop("Homing suppressions"),
    _words(
        unsubscribed="unsubscribe,imported unsubscribe",
        bounced="bounce,imported bounce",
        complained="complaint,imported complaint",
        blocked="manual,blocked,manual at provider,imported manual",
    ),
)
_LISTMONK = _Product(gettext_noop("listmonk subscribers"), hidden="listmonk")

# The name of a file of rejected rows contains the name of the original file.
_MAILCHIMP_NAME = re.compile(
    r"(?:reject\w* from )?(subscribed|unsubscribed|cleaned|nonsubscribed|sms_only)_", re.I
)
MAILCHIMP_EXPORT = re.compile(rf"{_MAILCHIMP_NAME.pattern}\w*export", re.I)
_MAILCHIMP_FILES: Mapping[str, Status | InputRefusal] = {
    "subscribed": Status.SUBSCRIBED,
    "unsubscribed": Status.UNSUBSCRIBED,
    "cleaned": Status.BOUNCED,
    "nonsubscribed": refuse("status_never_opted_in"),
    "sms_only": refuse("status_text_messages"),
}
_RENAMED = refuse("status_of_renamed_file")

_EXPORTS: tuple[tuple[_Product, frozenset[str]], ...] = (
    (_HOMING, keys("reader, state, left_topics")),
    (_HOMING, keys("state, suppressed, signed_up, came_by")),
    (_HOMING_SUPPRESSIONS, keys("email, reason, origin, since")),
    (_SUBSTACK, keys("active_subscription, email_disabled")),
    (_SUBSTACK, keys("stripe_connected_customer_id, email_disabled")),
    (_DASHBOARD, keys("stripe plan, emails received (6mo)")),
    (_GHOST, keys("subscribed_to_emails")),
    (_BUTTONDOWN_FILE, keys("subscriber_type")),
    (_BUTTONDOWN_FILE, keys("email_address, type, creation_date")),
    (_BEEHIIV, keys("api_subscription_id")),
    (_BEEHIIV, keys("status, tier, unsubscribed_at")),
    (_BEEHIIV, keys("first name, status, created_at, unsubscribed_at")),
    (_LISTMONK, keys("uuid, attributes, status")),
    (_KIT, keys("first_name, status, created_at")),
    (_KIT, keys("first_name, state, created_at")),
    (_KIT, keys("email_address, state")),
)
_MARKS = keys("member_rating, leid, euid").union(*(marks for _, marks in _EXPORTS))
_ANY_PRODUCT = frozenset(_KNOWN) | frozenset(_KIT.words)

# Headers of columns of statuses, in the form that `header_words.key` returns.
_STATUS = keys("""
    status, state, subscription status, subscription state, subscriber status, email status
    contact status, member status, opt in status, marketing status, email marketing status
    list status, subscriber type, statut
""")
_FLAGS: Mapping[str, Words] = {
    **dict.fromkeys(
        keys("""
            subscribed, is subscribed, subscribed to emails, opted in, opt in, accepts marketing
            accepts email marketing
        """),
        _IS_SUBSCRIBED,
    ),
    **dict.fromkeys(keys("confirmed, is confirmed, email confirmed"), _IS_CONFIRMED),
}
# Headers of columns that say who left. Each header maps to three values: the words in the column,
# the status of a row with a date, and whether any text counts as a date.
_WHO_IS_GONE: Mapping[str, tuple[Words, Status, bool]] = {
    **dict.fromkeys(
        keys("""
            unsubscribed at, unsubscribed on, unsubscribe date, unsubscription date
            unsubscribe time, unsub time, date unsubscribed, opt out time, opt out date, deleted at
        """),
        (_HAS_LEFT, Status.UNSUBSCRIBED, True),
    ),
    **dict.fromkeys(
        keys("""
            unsubscribed, is unsubscribed, opted out, opt out, email disabled, do not email
        """),
        (_HAS_LEFT, Status.UNSUBSCRIBED, False),
    ),
    **dict.fromkeys(keys("bounced at, clean time"), (_HAS_BOUNCED, Status.BOUNCED, True)),
    **dict.fromkeys(keys("bounced, hard bounced"), (_HAS_BOUNCED, Status.BOUNCED, False)),
    **dict.fromkeys(keys("complained at"), (_HAS_COMPLAINED, Status.COMPLAINED, True)),
    **dict.fromkeys(
        keys("complained, spam complaint, marked as spam"),
        (_HAS_COMPLAINED, Status.COMPLAINED, False),
    ),
}
# Only exports of Kit have these headers.
_CANCELLED = {"cancelledat": "unsubscribedat", "canceledat": "unsubscribedat"}
# Next to a column with one of these headers, the header “state” means a part of a country.
_PLACES = keys("city, town, zip, zip code, postal code, postcode, country, region, street")
UNREADABLE_DATE = datetime(9999, 12, 31, tzinfo=UTC)
_SHOWN = 60  # this number of characters of an unknown value are shown


@dataclass(frozen=True, slots=True)
class _StatusColumn:
    """A column of statuses. If a cell has a date, the status of the row is `dated`.

    If the column `is_date`, any text in it counts as a date, and a reader with a date has left.
    """

    column: int
    name: str
    words: Words
    dated: Status | None = None
    may_be_empty: bool = False
    is_date: bool = False

    def read(self, value: str) -> Verdict:
        value = value.strip()
        if not value:
            return None if self.may_be_empty else refuse("status_empty", column=self.name)
        word = key(value.removesuffix(".0"))  # spreadsheets write numbers like this
        if word in self.words:
            return self.words[word]
        if self.dated is not None:
            if is_no_date(value):
                return None
            if self.is_date or self._has_date(value):
                return self.dated
        shown = "".join(filter(str.isprintable, value[:_SHOWN]))
        return refuse("status_unknown", status=shown, column=self.name)

    def left_at(self, value: str) -> datetime | None:
        """Return the latest date that a cell can mean; None for a word."""
        value = value.strip()
        if self.dated is None or key(value.removesuffix(".0")) in self.words:
            return None
        return latest_date(value) or UNREADABLE_DATE

    def _has_date(self, value: str) -> bool:
        # In a column where a date means “subscribed”, a date that cannot be read is no consent.
        is_readable = self.dated is not Status.SUBSCRIBED or latest_date(value) is not None
        return is_readable and looks_like_date(value)


@dataclass(frozen=True, slots=True)
class _SpamReason(_StatusColumn):
    """The column of Mailchimp in which people say, in their own words, why they left."""

    def read(self, value: str) -> Verdict:
        value = value.lower()
        return Status.COMPLAINED if "spam" in value or "abuse" in value else None


@dataclass(frozen=True, slots=True)
class StatusRule:
    """The columns of a file that determine the status of its rows."""

    product: str
    status_columns: tuple[_StatusColumn, ...]
    silence: Status | InputRefusal
    hidden: str = ""
    # Columns that look like statuses but are not read as statuses; they only cause a warning.
    left_out: tuple[_StatusColumn, ...] = ()
    is_doubted: bool = False  # if true, no row makes its reader subscribed

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(one.column for one in self.status_columns)

    def of(self, fields: Sequence[str]) -> RowStatus | InputRefusal:
        """Return the status of a row, or the reason for rejecting it."""
        found = []
        for one in self.status_columns:
            value = fields[one.column] if one.column < len(fields) else ""
            found.append((one.read(value), one, value))
        statuses = [verdict for verdict, _, _ in found if isinstance(verdict, Status)]
        if isinstance(self.silence, Status) and self.silence.is_gone:
            statuses.append(self.silence)  # the file's name states this status
        gravest = max(statuses, key=_GRAVITY.__getitem__, default=None)
        if gravest is not None and gravest.is_gone:
            return RowStatus(gravest, _left_at(gravest, found))
        refusals = (verdict for verdict, _, _ in found if isinstance(verdict, InputRefusal))
        is_refused = isinstance(self.silence, InputRefusal)
        verdict = next(refusals, self.silence if is_refused else gravest or self.silence)
        is_stated_elsewhere = verdict is Status.UNSTATED and self.product not in _MAY_BE_UNSTATED
        if verdict in _UNDOUBTED and (is_stated_elsewhere or self._is_doubted(fields)):
            verdict = Status.UNCONFIRMED
        return verdict if isinstance(verdict, InputRefusal) else RowStatus(verdict)

    def unreadable_dates(self, fields: Sequence[str]) -> list[tuple[int, str]]:
        """Return the columns and cells with unreadable dates of leaving."""
        at_hand = (one for one in self.status_columns if one.column < len(fields))
        cells = [(one, fields[one.column].strip()) for one in at_hand]
        return [
            (one.column, cell)
            for one, cell in cells
            if not is_no_date(cell) and one.left_at(cell) == UNREADABLE_DATE
        ]

    def _is_doubted(self, fields: Sequence[str]) -> bool:
        cells = [(one, fields[one.column]) for one in self.left_out if one.column < len(fields)]
        verdicts = [one.read(value) for one, value in cells]
        said = (one for one in verdicts if isinstance(one, Status))
        return self.is_doubted or any(one is not Status.SUBSCRIBED for one in said)


# Only files of these products can have a status that says nothing about the subscription.
_MAY_BE_UNSTATED = (_NO_PRODUCT.name, _LISTMONK.name)
_UNDOUBTED = (Status.UNSTATED, Status.SUBSCRIBED)
# The rule for a file whose column of statuses is mapped to another field or is ignored.
SILENT = StatusRule("", (), Status.UNCONFIRMED)


def _left_at(
    gravest: Status, found: Sequence[tuple[Verdict, _StatusColumn, str]]
) -> datetime | None:
    """Return the latest date of the gravest status, or else of the other statuses."""
    dates = [
        (verdict is gravest, at)
        for verdict, column, value in found
        if isinstance(verdict, Status) and verdict.is_gone
        if (at := column.left_at(value)) is not None
    ]
    return max(dates)[1] if dates else None


def column_name(header: Sequence[str], column: int) -> str:
    """Name a column by its header, or by its number from 1."""
    return header[column].strip() if column < len(header) else f"column {column + 1}"


def is_known(word: str) -> bool:
    """Return whether this key names a column of statuses or identifies a product."""
    return any(word in words for words in (_STATUS, _MARKS, _FLAGS, _WHO_IS_GONE))


def said_by_name(filename: str) -> str:
    """Return the part of a file's name that states the status of all rows, or ""."""
    found = MAILCHIMP_EXPORT.match(filename) or _MAILCHIMP_NAME.match(filename)
    return found[0] if found else ""


def is_word(value: str) -> bool:
    """Return whether a value is a word for a status, including words such as “yes”."""
    return key(value) in _IS_SUBSCRIBED


def are_statuses(values: Collection[str]) -> bool:
    """Return whether all values are known statuses, or most are and one says “left”."""
    words = [key(value) for value in values]
    known = [word for word in words if word in _ANY_PRODUCT]
    says_gone = any(isinstance(one := _KNOWN.get(word), Status) and one.is_gone for word in known)
    least = len(words) / 2 if says_gone else len(words) - 1
    return bool(known) and len(known) > least


def rule_by_values(columns: Mapping[int, str]) -> StatusRule:
    """Make the rule for columns that were recognised only by their values.

    `columns` maps the number of each column to its name.
    """
    found = (_StatusColumn(at, name, _KNOWN, may_be_empty=True) for at, name in columns.items())
    return StatusRule("", tuple(found), Status.UNCONFIRMED)


def rule_of(
    header: Sequence[str],
    values: Callable[[int], Sequence[str]],
    filename: str,
    mapped: Collection[int] = (),
    taken: Collection[int] = (),
) -> StatusRule | None:
    """Find the rule for the status of rows; None if the file has no status.

    `values` returns the first values of a column. The columns in `mapped` have statuses, and the
    columns in `taken` have other uses.
    """
    named = [key(word) for word in header]
    product = _product_of(frozenset(named), filename)
    if product is _NO_PRODUCT and {"emailaddress", "type"} <= set(named):
        types = {key(value) for value in values(named.index("type"))}
        product = _BUTTONDOWN_FILE if types and types <= set(_BUTTONDOWN) else product
    found = []
    for column in range(max([len(named), *(at + 1 for at in mapped)])):
        if column not in taken:
            name = column_name(header, column)
            word = named[column] if column < len(named) else ""
            if product is _KIT:
                word = _CANCELLED.get(word, word)
            status_column = _status_column(column, name, word, named, product, values)
            if status_column is None and column in mapped:
                status_column = _StatusColumn(column, name, _IS_SUBSCRIBED)
            if status_column is not None:
                found.append(status_column)
    if not found and product is _NO_PRODUCT:
        return None
    return StatusRule(product.name, tuple(found), product.silence, product.hidden)


def _product_of(named: frozenset[str], filename: str) -> _Product:
    if "memberrating" in named or {"leid", "euid"} <= named or MAILCHIMP_EXPORT.match(filename):
        if prefix := _MAILCHIMP_NAME.match(filename):
            return _Product(_MAILCHIMP, silence=_MAILCHIMP_FILES[prefix[1].lower()])
        is_dated = not named.isdisjoint({"unsubtime", "cleantime"})
        return _Product(
            _MAILCHIMP,
            silence=_RENAMED if is_dated else Status.UNCONFIRMED,
            hidden="mailchimp_renamed",
        )
    # Exports of other products have a column of first names too. A file with columns that Kit never
    # writes is no export of Kit.
    may_be_kit = named >= {"firstname", "emailaddress", "createdat"} or not (
        "lastname" in named or named & _PLACES
    )
    for product, marks in _EXPORTS:
        if marks <= named and (product is not _KIT or may_be_kit):
            return product
    return _NO_PRODUCT


def _status_column(
    column: int,
    name: str,
    word: str,
    named: Sequence[str],
    product: _Product,
    values: Callable[[int], Sequence[str]],
) -> _StatusColumn | None:
    if product.name == _MAILCHIMP and word.startswith("unsubreason"):
        return _SpamReason(column, name, {})
    if product is _BUTTONDOWN_FILE and word == "unsubscriptiondate":
        return None  # no proof of leaving: a reader who returned keeps the old date
    if product is _HOMING and word == "confirmed":
        return None  # no proof of consent: a reader who left keeps this date
    if product is _HOMING and word == "suppressed":
        return _StatusColumn(column, name, _HOMING_SUPPRESSIONS.words, may_be_empty=True)
    if product is _HOMING_SUPPRESSIONS and word in ("reason", "since"):
        is_date = word == "since"
        since = Status.BLOCKED if is_date else None  # “reason” is at least as serious
        return _StatusColumn(column, name, product.words, since, may_be_empty=is_date)
    if word in _STATUS or (product is _BUTTONDOWN_FILE and word == "type"):
        found = values(column)
        is_place = word == "state" and not _PLACES.isdisjoint(named)
        if is_place and found and not any(key(value) in _ANY_PRODUCT for value in found):
            return None
        return _StatusColumn(column, name, product.words, may_be_empty=is_place and not found)
    if word in _FLAGS:
        # A column such as “subscribed” may contain dates, and an empty cell in a column with dates
        # says nothing about the status.
        has_dates = any(map(looks_like_date, values(column)))
        return _StatusColumn(column, name, _FLAGS[word], Status.SUBSCRIBED, may_be_empty=has_dates)
    if word in _WHO_IS_GONE:
        words, dated, is_date = _WHO_IS_GONE[word]
        return _StatusColumn(column, name, words, dated, may_be_empty=True, is_date=is_date)
    return None
