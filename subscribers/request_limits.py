"""Limit requests for mail: for each reader in a day, and each network in an hour.

A form that was sent very fast is not refused, because browsers can fill in forms; but a network has
a lower limit for such forms.
"""

from collections.abc import Sequence
from datetime import timedelta
from math import ceil
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from delivery.interface import request_mail
from delivery.models import Edition
from subscribers.consent.consent_log import TOO_FAST, record_consent
from subscribers.models import ConsentRecord, Subscriber
from subscribers.models.consent_record import Act
from subscribers.reserve_ids import next_request_number

HOUR_S = 3600
SUSPICIOUS_PER_HOUR = 3
NOT_MAILED = 0  # the number of a request that gets no mail because of the daily limit
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
# The columns that count a reader's requests, by kind of mail.
COUNTERS = {Edition.Kind.CONFIRMATION: "requests", Edition.Kind.RECORD: "record_requests"}


def seconds_until_turn(network: str, suspicious: bool = False) -> int:
    """Return the seconds until this network may request mail; 0 if it may do so now.

    Other requests of the network wait until this transaction ends. An unknown network never waits.
    """
    if not network:
        return 0
    per_hour = settings.SIGN_UPS_PER_HOUR
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [f"sign-up {network}"])
        # Do not use clock_timestamp() in WHERE: with a volatile function, the query cannot use the
        # index.
        cursor.execute(
            """
            SELECT extract(epoch FROM clock_timestamp() - at)::float8, detail
              FROM (SELECT network, at, detail FROM consent_record
                     WHERE act IN ('asked', 'record asked')
                     UNION ALL
                    SELECT network, requested_at, '' FROM data_request
                   ) AS asked (network, at, detail)
             WHERE network = %s AND at > statement_timestamp() - make_interval(secs => %s)
             ORDER BY at DESC LIMIT %s
            """,
            [network, HOUR_S, per_hour],
        )
        asked = [(seconds_ago, detail == TOO_FAST) for seconds_ago, detail in cursor]
    return seconds_to_wait(asked, suspicious, per_hour)


def ask_for_mail(
    reader: Subscriber, kind: Edition.Kind, act: Act, how: str, **details: Any
) -> None:
    """Record a request, and queue its mail if the limits allow it.

    The caller must have locked the reader's row.
    """
    number = _next_number(reader, COUNTERS[kind])
    record_consent(reader.pk, act, how, request=number, **details)
    if number != NOT_MAILED:
        request_mail(kind, number, [(reader.pk, reader.email)], ahead=True)


def _next_number(reader: Subscriber, counter: str) -> int:
    mailed_today = ConsentRecord.objects.filter(
        subscriber=reader,
        act__in=[Act.ASKED, Act.IMPORTED, Act.RECORD_ASKED],
        request__gt=0,
        at__gt=Now() - timedelta(days=1),
    )
    if mailed_today.count() >= settings.SIGN_UP_MAILS_PER_DAY:
        return NOT_MAILED
    number = next_request_number(getattr(reader, counter), reader.pk)
    setattr(reader, counter, number)
    reader.save(update_fields=[counter])
    return number


def seconds_to_wait(asked: Sequence[tuple[float, bool]], suspicious: bool, per_hour: int) -> int:
    """Return the seconds until a network may request mail again, at most 3,600.

    `asked` lists the network's requests of the last hour. Each request is a pair: its age in
    seconds, and whether its form was sent too fast.
    """
    wait = _until_fewer_than(per_hour, [seconds_ago for seconds_ago, _ in asked])
    if suspicious:
        fast = [seconds_ago for seconds_ago, is_fast in asked if is_fast]
        wait = max(wait, _until_fewer_than(min(SUSPICIOUS_PER_HOUR, per_hour), fast))
    return wait


def _until_fewer_than(limit: int, seconds_ago: Sequence[float]) -> int:
    if len(seconds_ago) < limit:
        return 0
    return min(HOUR_S, max(1, ceil(HOUR_S - sorted(seconds_ago)[limit - 1])))
