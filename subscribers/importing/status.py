"""
What a file says about each reader's status: still subscribed, unconfirmed, or gone. Pure.

Seven products are recognised by their header. In other files a column is recognised by its name.
Of several statuses in one row the gravest counts. Silence is not consent: a row of such a file
whose status says nothing is unconfirmed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from subscribers.address import Refusal
from subscribers.importing.header_words import key, keys


class Status(StrEnum):
    """What a file can say of a reader, by gravity."""

    SUBSCRIBED = "subscribed"
    UNCONFIRMED = "unconfirmed"
    BLOCKED = "blocked"
    BOUNCED = "bounced"
    UNSUBSCRIBED = "unsubscribed"
    COMPLAINED = "complained"

    @property
    def is_gone(self) -> bool:
        """Whether the address must not be mailed."""
        return self in _GONE


_GRAVITY = {status: at for at, status in enumerate(Status)}
_GONE = frozenset(Status) - {Status.SUBSCRIBED, Status.UNCONFIRMED}
# None: the value says nothing.
Verdict = Status | Refusal | None
Words = Mapping[str, Verdict]


class Stated(NamedTuple):
    """A row's status. `left_at`: when the reader left, in UTC, if the file says so."""

    status: Status
    left_at: datetime | None = None


def _words(**statuses: str) -> dict[str, Verdict]:
    return {
        key(word): Status(status) for status, words in statuses.items() for word in words.split(",")
    }


_YES, _NO = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")


def _flag(yes: Verdict, no: Verdict) -> dict[str, Verdict]:
    return {**dict.fromkeys(_YES, yes), **dict.fromkeys(_NO, no)}


_KNOWN: Words = _words(
    subscribed="subscribed,active,confirmed,opted in,opt in,double opt in,soft bounced",
    unconfirmed="unconfirmed,not confirmed,pending,unactivated,validating,needs approval,"
    "needs attention,enabled",
    unsubscribed="unsubscribed,cancelled,canceled,opted out,opt out",
    bounced="bounced,hard bounced,cleaned,undeliverable,invalid",
    complained="complained,complaint,spam,marked as spam,junk,abuse",
    blocked="blocked,blocklisted,blacklisted,disabled,suppressed,banned",
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
    "unpaid": Refusal("“unpaid” in Buttondown: this reader has not paid for a paid newsletter."),
}


class _Product(NamedTuple):
    """Its name, the words of its status column, and what a row says without any status."""

    name: str
    words: Words = _KNOWN
    silence: Verdict = Status.UNCONFIRMED
    hidden: str = ""


_MAILCHIMP = "Mailchimp audience"
_NO_PRODUCT = _Product("")
_SUBSTACK = _Product(
    "Substack email list", hidden="A Substack file leaves out most readers who unsubscribed."
)
_DASHBOARD = _Product(
    "Substack dashboard", hidden="It has no column for consent: import the email list instead."
)
_GHOST = _Product("Ghost members", hidden="A Ghost file does not show bounces and complaints.")
_BUTTONDOWN_FILE = _Product("Buttondown subscribers", _BUTTONDOWN)
_BEEHIIV = _Product("Beehiiv subscribers", {**_KNOWN, "inactive": Status.UNSUBSCRIBED})
_KIT = _Product(
    "Kit subscribers",
    {**_KNOWN, "inactive": Status.UNCONFIRMED, "cold": Status.SUBSCRIBED},
)
_LISTMONK = _Product(
    "listmonk subscribers",
    hidden="“enabled” in listmonk is no subscription: the file does not show who left a list.",
)

_MAILCHIMP_NAME = re.compile(r"(subscribed|unsubscribed|cleaned|nonsubscribed|sms_only)_", re.I)
_MAILCHIMP_EXPORT = re.compile(rf"{_MAILCHIMP_NAME.pattern}\w*export", re.I)
_MAILCHIMP_FILES: Mapping[str, Verdict] = {
    "subscribed": Status.SUBSCRIBED,
    "unsubscribed": Status.UNSUBSCRIBED,
    "cleaned": Status.BOUNCED,
    "nonsubscribed": Refusal("This Mailchimp contact never opted in."),
    "sms_only": Refusal("This Mailchimp contact agreed to text messages, not to mail."),
}
_RENAMED = Refusal(
    "The status of this Mailchimp contact is unknown: its date is empty, and the file's name does "
    "not begin as Mailchimp names it, such as “subscribed_”."
)

# What columns are called, as `header_words.key` has it.
_STATUS = keys("""
    status, state, subscription status, subscription state, subscriber status, email status
    contact status, member status, opt in status, marketing status, email marketing status
    list status, subscriber type
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
_DATES: Mapping[str, tuple[Words, Status]] = {
    **dict.fromkeys(
        keys("""
            unsubscribed, is unsubscribed, unsubscribed at, unsubscribed on, unsubscribe date
            unsubscription date, unsubscribe time, unsub time, date unsubscribed, opted out
            opt out, opt out time, opt out date, email disabled, do not email, deleted at
        """),
        (_HAS_LEFT, Status.UNSUBSCRIBED),
    ),
    **dict.fromkeys(
        keys("bounced, bounced at, hard bounced, clean time"), (_HAS_BOUNCED, Status.BOUNCED)
    ),
    **dict.fromkeys(
        keys("complained, complained at, spam complaint, marked as spam"),
        (_HAS_COMPLAINED, Status.COMPLAINED),
    ),
}
_CANCELLED = {"cancelledat": "unsubscribedat", "canceledat": "unsubscribedat"}  # in Kit alone
# Beside one of these, “state” is a part of a country.
_PLACES = keys("city, town, zip, zip code, postal code, postcode, country, region, street")
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{4}")
_NO_DATE = re.compile(r"000[01]-.*|-|null|none", re.I)
_SHOWN = 60  # characters of an unknown value


@dataclass(frozen=True, slots=True)
class _Signal:
    """One column: what its words mean, and a date in it. `may_be_empty`: then it says nothing."""

    column: int
    name: str
    words: Words
    dated: Status | None = None
    may_be_empty: bool = False

    def read(self, value: str) -> Verdict:
        value = value.strip()
        if not value:
            return None if self.may_be_empty else Refusal(f"The status in “{self.name}” is empty.")
        word = key(value)
        if word in self.words:
            return self.words[word]
        if self.dated is not None:
            if _NO_DATE.fullmatch(value):
                return None
            if _DATE.match(value):
                return self.dated
        shown = "".join(filter(str.isprintable, value[:_SHOWN]))
        return Refusal(f"The status “{shown}” in “{self.name}” is not known.")


@dataclass(frozen=True, slots=True)
class _SpamReason(_Signal):
    """Why a Mailchimp contact left, in their own words or the product's."""

    def read(self, value: str) -> Verdict:
        value = value.lower()
        return Status.COMPLAINED if "spam" in value or "abuse" in value else None


@dataclass(frozen=True, slots=True)
class StatusRule:
    """How one file says the status of its rows."""

    product: str
    signals: tuple[_Signal, ...]
    silence: Verdict
    hidden: str = ""

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that it reads."""
        return tuple(signal.column for signal in self.signals)

    def of(self, fields: Sequence[str]) -> Stated | Refusal:
        """The status of a row, or why it cannot be imported."""
        found: Status | None = None
        refusal: Refusal | None = None
        for signal in self.signals:
            value = fields[signal.column] if signal.column < len(fields) else ""
            verdict = signal.read(value)
            if isinstance(verdict, Refusal):
                refusal = refusal or verdict
            elif verdict is not None and (found is None or _GRAVITY[verdict] > _GRAVITY[found]):
                found = verdict
        if found is not None and found.is_gone:
            return Stated(found, self._left_at(fields))
        if refusal is not None:
            return refusal
        if found is not None:
            return Stated(found)
        assert self.silence is not None  # noqa: S101 -- every rule has a word for silence
        return self.silence if isinstance(self.silence, Refusal) else Stated(self.silence)

    def _left_at(self, fields: Sequence[str]) -> datetime | None:
        for signal in self.signals:
            if signal.dated and signal.column < len(fields):
                # Products that name no zone mean UTC, as far as is known.
                with suppress(ValueError):
                    at = datetime.fromisoformat(fields[signal.column].strip()[:19])
                    return at.replace(tzinfo=UTC)
        return None


def rule_of(
    header: Sequence[str],
    values: Callable[[int], Sequence[str]],
    filename: str,
    mapped: Collection[int] = (),
    taken: Collection[int] = (),
) -> StatusRule | None:
    """
    How a file with this header says the status of its rows; None if it says none.

    `values` gives the first values of a column. `mapped` columns hold the status because the
    importer says so; `taken` columns hold something else.
    """
    named = [key(word) for word in header]
    product = _product_of(frozenset(named), filename)
    signals = []
    for column in range(max([len(named), *(at + 1 for at in mapped)])):
        if column not in taken:
            name = header[column].strip() if column < len(header) else f"column {column + 1}"
            word = named[column] if column < len(named) else ""
            if product is _KIT:
                word = _CANCELLED.get(word, word)
            signal = _signal(column, name, word, named, product, values)
            if signal is None and column in mapped:
                signal = _Signal(column, name, _IS_SUBSCRIBED)
            if signal is not None:
                signals.append(signal)
    if not signals and product is _NO_PRODUCT:
        return None
    return StatusRule(product.name, tuple(signals), product.silence, product.hidden)


def _product_of(named: frozenset[str], filename: str) -> _Product:
    if "memberrating" in named or {"leid", "euid"} <= named or _MAILCHIMP_EXPORT.match(filename):
        if prefix := _MAILCHIMP_NAME.match(filename):
            return _Product(_MAILCHIMP, silence=_MAILCHIMP_FILES[prefix[1].lower()])
        is_dated = not named.isdisjoint({"unsubtime", "cleantime"})
        return _Product(
            _MAILCHIMP,
            silence=_RENAMED if is_dated else Status.UNCONFIRMED,
            hidden="A Mailchimp file says its status by its name, and this one was renamed.",
        )
    for product, marks in (
        (_SUBSTACK, {"activesubscription", "emaildisabled"}),
        (_SUBSTACK, {"stripeconnectedcustomerid", "emaildisabled"}),
        (_DASHBOARD, {"stripeplan", "emailsreceived6mo"}),
        (_GHOST, {"subscribedtoemails"}),
        (_BUTTONDOWN_FILE, {"subscribertype"}),
        (_BEEHIIV, {"apisubscriptionid"}),
        (_BEEHIIV, {"status", "tier", "unsubscribedat"}),
        (_LISTMONK, {"uuid", "attributes", "status"}),
        (_KIT, {"firstname", "status", "createdat"}),
        (_KIT, {"firstname", "state", "createdat"}),
        (_KIT, {"emailaddress", "state"}),
    ):
        if marks <= named and not (product is _KIT and ("lastname" in named or named & _PLACES)):
            return product
    return _NO_PRODUCT


def _signal(
    column: int,
    name: str,
    word: str,
    named: Sequence[str],
    product: _Product,
    values: Callable[[int], Sequence[str]],
) -> _Signal | None:
    if product.name == _MAILCHIMP and word.startswith("unsubreason"):
        return _SpamReason(column, name, {})
    if product is _BUTTONDOWN_FILE and word == "unsubscriptiondate":
        return None  # readers who came back keep an old one
    if word in _STATUS:
        is_place = word == "state" and not _PLACES.isdisjoint(named)
        if is_place and not any(key(value) in product.words for value in values(column)):
            return None
        return _Signal(column, name, product.words)
    if word in _FLAGS:
        # “Subscribed” may also say since when.
        found = values(column)
        is_date = bool(found) and all(map(_DATE.match, found))
        return None if is_date else _Signal(column, name, _FLAGS[word])
    if word in _DATES:
        return _Signal(column, name, *_DATES[word], may_be_empty=True)
    return None
