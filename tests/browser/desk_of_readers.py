"""The desk's pages of readers and imports, in every state that they show to somebody."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from django.test import Client
from playwright.sync_api import Page

from delivery.told import Bounced
from publishing.content import Content
from publishing.publish import publish
from subscribers import consent, shutting_out
from subscribers.importing import background, receiving
from subscribers.importing.reading import ReaderFile
from subscribers.importing.receiving import Statement
from subscribers.leaving import leave
from subscribers.models import Subscriber, SubscriberImport
from subscribers.models.consent_record import How
from subscribers.readers import RegisteredReaders
from tests.browser.web_site import WebSite
from tests.subscribers.factories import SubscriberFactory, SubscriberImportFactory

ROOT = Path(__file__).parent.parent.parent
DEMO_LIST = ROOT / "publishing" / "demo_material" / "readers.csv"
READERS = "/admin/newsletters/readers/"
IMPORTS = "/admin/newsletters/imports/"
LETTER = Content("Swifts leave without saying goodbye", "<p>They are gone.</p>", "They are gone.")
# As long as an address may be, and nowhere in it a place to break a line.
LONGEST = f"{'w' * 64}@{'posthouse' * 6}.{'x' * 60}.{'y' * 60}.example.org"
FAIR = (
    "E-Mail;Nome;Stand\r\n"
    "lidia.ramos@weir.example.org;Lídia Ramos;4\r\n"
    "ada.whitlock@posthouse.example.org;Ada Whitlock;\r\n"
    "gone@posthouse.example.org;Odo Lindqvist;\r\n"
    "LIDIA.RAMOS@weir.example.org;Lídia Ramos;\r\n"
    "paul@@orchard.example.org;Paul;\r\n"
    f"{'see-overleaf-' * 12};;\r\n"
    "rosa@mill-race.example.org;Rosa Falcão;7\r\n"
).encode("cp1252")
KNOWN = b"email,name\nada.whitlock@posthouse.example.org,Ada Whitlock\n"


def signed_in(page: Page, site: WebSite, author: Any) -> Page:
    """A window whose browser has the cookie of somebody who signed in."""
    client = Client()
    client.force_login(author)
    cookie = client.cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": site.url}])
    return page


# --- What the pages are about ---------------------------------------------------------------------


def _readers(author: Any) -> dict[str, Subscriber]:
    """One reader of each state, with what usually stands beside it."""
    confirmed = SubscriberFactory(email="ada.whitlock@posthouse.example.org")
    pending = SubscriberFactory(email="ines.faria@weir.example.org", name="Inês", state="pending")
    left = SubscriberFactory(email="gone@posthouse.example.org", name="Odo Lindqvist")
    bounced = SubscriberFactory(email="harriet@oxbow.example.org", name="Harriet Snow")
    complained = SubscriberFactory(email="f.mbeki@quarry.example.org", name="")
    shut_out = SubscriberFactory(email=LONGEST, name="Sigríður " * 20)
    words = {"network": "203.0.113.0/24", "wording": "Yes, send me the letter.", "request": 1}
    for reader in (confirmed, pending, left):
        consent.record(reader.pk, "asked", "form", name=reader.name, **words)
    for reader in (confirmed, left):
        consent.record(reader.pk, "confirmed", "link", **words)
    publish(author.pk, "first", LETTER, hold_s=0)
    publish(author.pk, "second", LETTER, hold_s=0)
    leave(left.pk, How.ONE_CLICK, network="203.0.113.0/24")
    for reader, kind in ((bounced, "HardBounce"), (complained, "SpamComplaint")):
        RegisteredReaders().told(
            [
                Bounced(
                    address=reader.email,
                    at=datetime(2026, 3, 14, tzinfo=UTC),
                    bounce=str(reader.pk),
                    kind=kind,
                    inactive=True,
                    description="The server was unable to deliver your message (ex: unknown user).",
                )
            ]
        )
    shutting_out.shut_out(shut_out.pk)
    return {
        "confirmed": confirmed,
        "pending": pending,
        "left": left,
        "bounced": bounced,
        "complained": complained,
        "shut out": shut_out,
    }


def _received(content: bytes, name: str, author: Any) -> SubscriberImport:
    """An upload, not checked yet."""
    file = io.BytesIO(content)
    with ReaderFile(file) as readers:
        return receiving.receive_to_check(readers, file, name, author)[0]


def _checked(content: bytes, name: str, author: Any) -> SubscriberImport:
    record = _received(content, name, author)
    background.work(lambda: False)
    return record


def _imported(path: Path, author: Any) -> SubscriberImport:
    record = _checked(path.read_bytes(), path.name, author)
    receiving.decide(
        record.pk, Statement(True, "Signed list at the village fair, 12 September", author)
    )
    background.work(lambda: False)
    return record


def _imports(author: Any) -> dict[str, SubscriberImport]:
    """An import of each kind. Only the one that runs is made up, and stands still."""
    unfinished: dict[str, Any] = {"imported_by": author, "finished_at": None, "size": 4_000_000}
    return {
        "finished with rejects": _imported(DEMO_LIST, author),
        "checked": _checked(FAIR, "village-fair.csv", author),
        "checked, nobody new": _checked(KNOWN, f"{'village-fair-' * 12}.csv", author),
        "failed": SubscriberImportFactory(
            state="refused",
            imported_by=author,
            filename="spring-fair.csv",
            refusal="The file was changed on the way: its content is not what was uploaded. "
            "Upload it again.",
        ),
        "waiting": _received(b"email\nrosa@mill-race.example.org\n", "rosa.csv", author),
        "running": SubscriberImportFactory(
            **unfinished,
            filename="guild.csv",
            state="running",
            statement="Signed list at the village fair",
            owner=uuid4(),
            bytes_read=1_500_000,
            rows=24_000,
            added=23_400,
            known=600,
        ),
    }


# --- The pages ------------------------------------------------------------------------------------


def _upload_no_list(page: Page) -> None:
    file = {"name": "readers.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7\n"}
    page.get_by_label("A list of readers").set_input_files(files=[file])  # type: ignore[list-item]
    page.get_by_role("button", name="Upload and check").click()
    page.get_by_role("alert").wait_for()


def _state_nothing(page: Page) -> None:
    page.get_by_label("These people gave their consent elsewhere").check()
    page.get_by_label("Where and how").fill("  ")
    page.get_by_role("button", name="as confirmed").click()
    page.get_by_role("alert").wait_for()


# What is done on a page before it is looked at.
_DONE_THERE: Mapping[str, Callable[[Page], None]] = MappingProxyType(
    {"upload with an error": _upload_no_list, "decision with an error": _state_nothing}
)
EMPTY = ("no readers", "no imports", "upload with an error")
FULL = (
    "readers",
    "readers of one state",
    "somebody found",
    "nobody found",
    "a form elsewhere",
    "reader confirmed",
    "reader pending",
    "reader left",
    "reader bounced",
    "reader complained",
    "reader shut out",
    "unsubscribe",
    "shut out",
    "let in",
    "erase",
    "nothing to do",
    "imports",
    "import finished with rejects",
    "import checked",
    "import checked, nobody new",
    "import failed",
    "import waiting",
    "import running",
    "decision with an error",
)


def addresses(author: Any) -> dict[str, str]:
    """The address of every page of `FULL`, once there is something to show on it."""
    readers, imports = _readers(author), _imports(author)
    confirmed, shut_out = f"{READERS}{readers['confirmed'].pk}/", readers["shut out"].pk
    return {
        "readers": READERS,
        "readers of one state": f"{READERS}?state=confirmed",
        "somebody found": f"{READERS}?q=wwww",
        "nobody found": f"{READERS}?q=nobody%40nowhere",
        "a form elsewhere": f"{READERS}form/",
        **{f"reader {name}": f"{READERS}{reader.pk}/" for name, reader in readers.items()},
        "unsubscribe": f"{confirmed}unsubscribe/",
        "shut out": f"{confirmed}shut-out/",
        "erase": f"{confirmed}erase/",
        "let in": f"{READERS}{shut_out}/let-in/",
        "nothing to do": f"{READERS}{shut_out}/shut-out/",
        "imports": IMPORTS,
        **{f"import {name}": f"{IMPORTS}{record.pk}/" for name, record in imports.items()},
        "decision with an error": f"{IMPORTS}{imports['checked'].pk}/",
    }


# Before anybody has come, these are all there is.
ADDRESSES_OF_EMPTY = MappingProxyType(
    {"no readers": READERS, "no imports": IMPORTS, "upload with an error": IMPORTS}
)


def visit(page: Page, name: str, address: str) -> None:
    """Come to this page, and do on it what makes it look as its name says."""
    page.goto(address)
    if name in _DONE_THERE:
        _DONE_THERE[name](page)
