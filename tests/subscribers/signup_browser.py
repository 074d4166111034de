"""Sign up as a visitor does: send the form, find the mail, confirm."""

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
    """A client that sends every request over TLS, from our own page."""

    def request(self, **environ: Any) -> Any:
        tls = {
            "wsgi.url_scheme": "https",
            "SERVER_PORT": "443",
            "HTTP_REFERER": "https://testserver/",
        }
        return super().request(**{**environ, **tls})


def visitor(*, strict: bool = False) -> OverTls:
    """Make a browser; with `strict`, forms need their CSRF token."""
    return OverTls(enforce_csrf_checks=strict)


def sign_up(email: str = ADA, name: str = "", *, by: Client | None = None, **more: Any) -> Any:
    """Send the form with its two fields and `more` from the address `ip`."""
    meta = {"REMOTE_ADDR": more.pop("ip")} if "ip" in more else {}
    return (by or visitor()).post(SIGN_UP, {"email": email, "name": name, **more}, **meta)


def link(reader: Subscriber, request: int) -> str:
    address = RegisteredReaders().mail_link(Edition.Kind.CONFIRMATION, reader.pk, request)
    return address.removeprefix(settings.SITE_URL)


def press(reader: Subscriber, request: int | None = None) -> HttpResponse:
    """Confirm with the latest link, or with the link of one request."""
    reader.refresh_from_db()
    return visitor().post(link(reader, request or reader.requests))


def mails_to(email: str) -> list[int]:
    """Return the numbers of the confirmation mails to an address."""
    mails = Delivery.objects.filter(address=email).order_by("version")
    kind = Edition.Kind.CONFIRMATION
    editions = Edition.objects.filter(kind=kind).values_list("issue_id", "version")
    found = list(mails.values_list("issue_id", "version"))
    assert set(found) <= set(editions)
    return [version for _, version in found]


def ledger_of(reader: Subscriber) -> list[tuple[str, str, int | None]]:
    """Return the consent records: act, way, and number of the request."""
    lines = ConsentRecord.objects.filter(subscriber=reader).order_by("id")
    return list(lines.values_list("act", "how", "request"))


def get_current(email: str = ADA) -> Subscriber:
    return Subscriber.objects.get(email_key=email.lower())


def days_pass(days: float) -> None:
    """Move all records back in time, without the triggers that protect them.

    The tests connect as a superuser, who may switch off all triggers. A table's owner cannot
    disable triggers in a test's transaction, because deferred constraints are pending.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        for table, column in (
            ("consent_record", "at"),
            ("subscriber", "created_at"),
            ("subscriber", "gone_at"),
            ("subscriber_import", "requested_at"),
            ("subscriber_import", "checked_at"),
            ("subscriber_import", "finished_at"),
        ):
            cursor.execute(
                f"UPDATE {table} SET {column} = {column} - make_interval(secs => %s)",
                [days * 86_400],
            )
        cursor.execute("SET session_replication_role = DEFAULT")
