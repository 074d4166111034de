"""What a person does who wants the letter: fill in the form, find the mail, press its button."""

from typing import Any

from django.conf import settings
from django.db import connection
from django.http import HttpResponse
from django.test import Client

from delivery.models import Delivery, Edition
from subscribers.delivery_hooks import RegisteredReaders
from subscribers.models import ConsentRecord, Subscriber

SIGN_UP = "/subscriptions/"
ADA = "ada@posthouse.example.org"


class OverTls(Client):
    """A client whose every request comes over TLS, from a page of ours."""

    def request(self, **environ: Any) -> Any:
        tls = {
            "wsgi.url_scheme": "https",
            "SERVER_PORT": "443",
            "HTTP_REFERER": "https://testserver/",
        }
        return super().request(**{**environ, **tls})


def visitor(*, strict: bool = False) -> OverTls:
    """Somebody's browser. `strict`: forms need their token, as they do outside of tests."""
    return OverTls(enforce_csrf_checks=strict)


def sign_up(email: str = ADA, name: str = "", *, by: Client | None = None, **more: Any) -> Any:
    """Send the form as a script would, with its two fields and `more`; `ip` is who sends it."""
    meta = {"REMOTE_ADDR": more.pop("ip")} if "ip" in more else {}
    return (by or visitor()).post(SIGN_UP, {"email": email, "name": name, **more}, **meta)


def link(reader: Subscriber, request: int) -> str:
    address = RegisteredReaders().mail_link(Edition.Kind.CONFIRMATION, reader.pk, request)
    return address.removeprefix(settings.SITE_URL)


def press(reader: Subscriber, request: int | None = None) -> HttpResponse:
    """Press the button behind the latest link, or behind that of one request."""
    reader.refresh_from_db()
    return visitor().post(link(reader, request or reader.requests))


def mails_to(email: str) -> list[int]:
    """Which mails that ask for confirmation were queued for an address, by their numbers."""
    mails = Delivery.objects.filter(address=email).order_by("version")
    kind = Edition.Kind.CONFIRMATION
    editions = Edition.objects.filter(kind=kind).values_list("issue_id", "version")
    found = list(mails.values_list("issue_id", "version"))
    assert set(found) <= set(editions)
    return [version for _, version in found]


def ledger_of(reader: Subscriber) -> list[tuple[str, str, int | None]]:
    """What is on record about somebody: act, way, and number of the request."""
    lines = ConsentRecord.objects.filter(subscriber=reader).order_by("id")
    return list(lines.values_list("act", "how", "request"))


def get_current(email: str = ADA) -> Subscriber:
    return Subscriber.objects.get(email_key=email.lower())


def days_pass(days: float) -> None:
    """
    Move all that is on record back in time, past the triggers that keep it as it is.

    It needs a superuser, as the server that the tests start gives us. An owner could alter the
    tables instead, but not in a transaction that has deferred constraints still to check, as the
    one of a test has.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        for table, column in (
            ("consent_record", "at"),
            ("subscriber", "created_at"),
            ("subscriber", "gone_at"),
            ("subscriber_import", "started_at"),
            ("subscriber_import", "checked_at"),
            ("subscriber_import", "finished_at"),
        ):
            cursor.execute(
                f"UPDATE {table} SET {column} = {column} - make_interval(secs => %s)",
                [days * 86_400],
            )
        cursor.execute("SET session_replication_role = DEFAULT")
