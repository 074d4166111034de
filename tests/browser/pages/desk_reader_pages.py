"""The desk's pages of readers and imports, in every state."""

import io
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from django.db import transaction
from playwright.sync_api import Page, expect

from delivery.provider.events import Bounced
from publishing.content.edition_content import Content
from publishing.past_issues.move_task import run_next_move
from publishing.publish.publish_edition import publish
from subscribers.consent.consent_log import record_consent
from subscribers.delivery_hooks import RegisteredReaders
from subscribers.desk.many_readers.change_readers import Selection, count_selected, start_change
from subscribers.desk.reader_filter import ReaderFilter
from subscribers.importing import accept_upload
from subscribers.importing.accept_upload import Statement
from subscribers.importing.file_format.read_file import ReaderFile
from subscribers.importing.import_task import run_next_import
from subscribers.leaving.leave import leave
from subscribers.models import ReaderFieldDefinition, Subscriber, SubscriberImport, Tag
from subscribers.models.consent_record import How
from subscribers.suppression import manual_suppression
from tests.browser.pages.accessibility import LONGEST, LONGEST_ADDRESS, Pages, Shown
from tests.browser.web_site import ROOT
from tests.publishing.past_issues.sample_exports import substack
from tests.subscribers.factories import SubscriberFactory, SubscriberImportFactory

DEMO_LIST = ROOT / "newsletter_site" / "demo" / "material" / "readers.csv"
EXPORT = ROOT / "tests" / "subscribers" / "exports" / "buttondown.csv"
READERS = "/admin/newsletters/readers/"
IMPORTS = "/admin/newsletters/imports/"
LETTER = Content(
    title="Swifts leave without saying goodbye", html="<p>They are gone.</p>", text="They are gone."
)
FAIR = (
    "E-Mail;Nome;Posto\r\n"
    "lidia.ramos@weir.example.org;Lídia Ramos;4\r\n"
    "ada.whitlock@posthouse.example.org;Ada Whitlock;\r\n"
    "gone@posthouse.example.org;Odo Lindqvist;\r\n"
    "LIDIA.RAMOS@weir.example.org;Lídia Ramos;\r\n"
    "paul@@orchard.example.org;Paul;\r\n"
    f"{'see-overleaf-' * 12};;\r\n"
    "rosa@mill-race.example.org;Rosa Falcão;7\r\n"
).encode("cp1252")
KNOWN = b"email,name\nada.whitlock@posthouse.example.org,Ada Whitlock\n"


def _readers(author: Any) -> dict[str, Subscriber]:
    """Create one reader of each state, with typical details."""
    confirmed = SubscriberFactory(email="ada.whitlock@posthouse.example.org")
    pending = SubscriberFactory(email="ines.faria@weir.example.org", name="Inês", state="pending")
    left = SubscriberFactory(email="gone@posthouse.example.org", name="Odo Lindqvist")
    bounced = SubscriberFactory(email="harriet@oxbow.example.org", name="Harriet Snow")
    complained = SubscriberFactory(email="f.mbeki@quarry.example.org", name="")
    blocked = SubscriberFactory(email=LONGEST_ADDRESS, name="Sigríður " * 20)
    words = {"network": "203.0.113.0/24", "wording": "Yes, send me the letter.", "request": 1}
    for reader in (confirmed, pending, left):
        record_consent(reader.pk, "asked", "form", values={"name": reader.name}, **words)
    for reader in (confirmed, left):
        record_consent(reader.pk, "confirmed", "link", **words)
    publish(author.pk, "first", LETTER, hold_s=0)
    publish(author.pk, "second", LETTER, hold_s=0)
    leave(left.pk, How.ONE_CLICK, network="203.0.113.0/24")
    for reader, kind in ((bounced, "HardBounce"), (complained, "SpamComplaint")):
        event = Bounced(
            address=reader.email, at=datetime(2026, 3, 14, tzinfo=UTC), bounce=str(reader.pk),
            kind=kind, inactive=True,
            description="The server was unable to deliver your message (ex: unknown user).",
        )  # fmt: skip
        with transaction.atomic():
            RegisteredReaders().apply_events([event])
    manual_suppression.block(blocked.pk)
    return {
        "confirmed": confirmed, "pending": pending, "left": left, "bounced": bounced,
        "complained": complained, "blocked": blocked,
    }  # fmt: skip


def _received(content: bytes, name: str, author: Any, *, check: bool = True) -> SubscriberImport:
    file = io.BytesIO(content)
    with ReaderFile(file, name) as readers:
        record = accept_upload.store_for_check(readers, file, name, author)[0]
    if check:
        run_next_import()
    return record


def _imports(author: Any) -> dict[str, SubscriberImport]:
    """Create real imports of each kind, and a row of a running import that never ends."""
    imported = _received(DEMO_LIST.read_bytes(), DEMO_LIST.name, author)
    where = "Signed list at the village fair, 12 September"
    accept_upload.start_import(imported.pk, Statement(confirmed=True, where=where).columns(author))
    run_next_import()
    failed = SubscriberImportFactory(
        state="refused", imported_by=author, filename="spring-fair.csv",
        error={"code": "file_incomplete", "parameters": {}},
    )  # fmt: skip
    checked = _received(FAIR, "village-fair.csv", author)
    nobody_new = _received(KNOWN, f"{'village-fair-' * 12}.csv", author)
    running = SubscriberImportFactory(
        state="running", imported_by=author, finished_at=None, filename="guild.csv",
        statement=where, owner=uuid4(), total=4_000_000, done=1_500_000, rows=24_000,
        added=23_400, known=600,
    )  # fmt: skip
    undo = {"imported_by": author, "rows": 23_400, "added": 23_400, "kept_mailed": 20}
    undoing = SubscriberImportFactory(state="undoing", owner=uuid4(), undone=9_000, **undo)
    undone = SubscriberImportFactory(
        state="undone", undone_at=datetime(2026, 3, 14, tzinfo=UTC), undone=23_000, **undo
    )
    rosa = b"email\nrosa@mill-race.example.org\n"
    return {
        "finished with rejects": imported,
        "checked": checked,
        "checked export": _received(EXPORT.read_bytes(), EXPORT.name, author),
        "checked, nobody new": nobody_new,
        "failed": failed,
        "waiting": _received(rosa, "rosa.csv", author, check=False),
        "running": running,
        "undoing": undoing,
        "undone": undone,
    }


def upload(
    page: Page,
    name: str,
    mime_type: str,
    content: bytes,
    label: str = "File of readers",
    button: str = "Upload and check",
) -> None:
    file = {"name": name, "mimeType": mime_type, "buffer": content}
    page.get_by_label(label).set_input_files(files=[file])  # type: ignore[list-item]
    page.get_by_role("button", name=button).click()


def _upload_no_list(page: Page) -> None:
    upload(page, "readers.pdf", "application/pdf", b"%PDF-1.7\n")
    page.get_by_role("alert").wait_for()


def _state_nothing(page: Page) -> None:
    page.get_by_label("These readers consented elsewhere").check()
    page.get_by_label("How did they consent?").fill("  ")
    page.get_by_role("button", name="as confirmed").click()
    page.get_by_role("alert").wait_for()


def _choose_a_tag(page: Page) -> None:
    Tag.objects.get_or_create(name=LONGEST[:60])
    page.reload()
    page.get_by_label(LONGEST[:60]).check()
    page.get_by_role("button", name="Show link and form").click()
    expect(page.get_by_label("Link to your sign-up page")).to_have_value(re.compile("tags="))


def _add_nobody(page: Page) -> None:
    page.get_by_label("They gave their consent elsewhere").check()
    page.get_by_role("button", name="Add reader").click()
    page.locator("#email_error").wait_for()


def no_readers(_author: Any) -> Pages:
    """Return the pages before the first reader."""
    return {
        "no readers": Shown(READERS),
        "no imports": Shown(IMPORTS),
        "upload with an error": Shown(IMPORTS, _upload_no_list),
        "move": Shown("/admin/newsletters/move/?from=buttondown"),
    }


def readers(author: Any) -> Pages:
    """Return every page of readers and imports, with content."""
    readers, imports = _readers(author), _imports(author)
    birds = Tag.objects.create(name="Birds", is_topic=True).pk
    ReaderFieldDefinition.objects.create(key="city", label="City", position=1)
    Subscriber.objects.filter(pk=readers["pending"].pk).update(left_topics=[birds])
    pending, change = f"{READERS}{readers['pending'].pk}/", f"{READERS}change/?scope=found"
    number, _ = count_selected(Selection(ReaderFilter()))
    tag, everybody = Tag.objects.get(pk=birds), Selection(ReaderFilter())
    running_change = start_change(uuid4(), "tag", tag, everybody, number, author.pk)
    assert running_change is not None
    confirmed, blocked = f"{READERS}{readers['confirmed'].pk}/", readers["blocked"].pk
    return {
        "readers": Shown(READERS),
        "readers of one state": Shown(f"{READERS}?state=confirmed"),
        "somebody found": Shown(f"{READERS}?q=wwww"),
        "filtered": Shown(f"{READERS}?tag={birds}&source=import&since=2026-01-01"),
        "add a reader": Shown(f"{READERS}add/"),
        "a reader with errors": Shown(f"{READERS}add/", _add_nobody),
        "edit a reader": Shown(f"{pending}edit/"),
        "correct an address": Shown(f"{pending}address/"),
        "put on a tag": Shown(f"{change}&do=tag&which={birds}"),
        "erase many": Shown(f"{change}&do=erase"),
        "a running change": Shown(f"{READERS}changes/{running_change.pk}/"),
        "nobody found": Shown(f"{READERS}?q=nobody%40nowhere"),
        **{f"reader {name}": Shown(f"{READERS}{one.pk}/") for name, one in readers.items()},
        **{action: Shown(f"{confirmed}{action}/") for action in ("unsubscribe", "block")},
        "erase": Shown(f"{confirmed}erase/"),
        "unblock": Shown(f"{READERS}{blocked}/unblock/"),
        "nothing to do": Shown(f"{READERS}{blocked}/block/"),
        "imports": Shown(IMPORTS),
        **{f"import {name}": Shown(f"{IMPORTS}{one.pk}/") for name, one in imports.items()},
        "undo": Shown(f"{IMPORTS}{imports['finished with rejects'].pk}/undo/"),
        "nothing to undo": Shown(f"{IMPORTS}{imports['undone'].pk}/undo/"),
        "decision with an error": Shown(f"{IMPORTS}{imports['checked'].pk}/", _state_nothing),
    }


def readers_acted_on(_author: Any) -> Pages:
    """Return pages that show the result of an action on readers."""
    reader = SubscriberFactory()

    def do(action: str, done: str) -> Shown:
        def press(page: Page) -> None:
            page.get_by_role("link", name=action).click()
            page.locator(".sheet button").click()
            expect(page.get_by_role("status")).to_have_text(done)

        return Shown(f"{READERS}{reader.pk}/", press)

    return {
        "blocked": do("Block this address", "Blocked. Homing sends no mail to this address."),
        "erased": do("Erase", "Erased. Homing keeps only a hash of the address."),
    }


def settings_and_export(author: Any) -> Pages:
    """Return the settings with long names, and the export in its states."""
    settings = "/admin/newsletters/settings/"
    ReaderFieldDefinition.objects.create(key="city", label=LONGEST[:60], position=1, on_form=True)
    ReaderFieldDefinition.objects.create(key="plan", label="Plan", fallback="free", position=2)
    tag = Tag.objects.create(name="Birds", is_topic=True, description=LONGEST * 2)
    Tag.objects.create(name=LONGEST[:60])
    SubscriberFactory(tags=[tag.pk], fields={"city": "Lyon"})

    def save_nothing(page: Page) -> None:
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".error").first).to_be_visible()

    def send(address: str) -> Callable[[Page], None]:
        def fill(page: Page) -> None:
            page.get_by_label("Sender’s address").fill(address)
            page.get_by_label("Send the test letter to").fill("ada@tides.org")
            page.get_by_role("button", name="Send a test letter").click()
            expect(page.locator(".error, #poll[data-hx-get]").first).to_be_visible()

        return fill

    def name_none(page: Page) -> None:
        page.get_by_label("Name", exact=True).fill(" ")
        page.get_by_label("Footer").fill(LONGEST)
        save_nothing(page)

    def export(page: Page) -> None:
        page.get_by_role("button", name="Write the export").click()
        expect(page.get_by_text("waiting for a worker")).to_be_visible()

    return {
        "settings": Shown(settings),
        "newsletter settings": Shown(f"{settings}newsletter/", name_none),
        "sender, with errors": Shown(f"{settings}sender/", send("ada")),
        "sender that waits": Shown(f"{settings}sender/", send(LONGEST_ADDRESS)),
        "look": Shown(f"{settings}look/"),
        "counted settings": Shown(f"{settings}?count"),
        "a new field": Shown(f"{settings}fields/add/", save_nothing),
        "a field": Shown(f"{settings}fields/city/"),
        "deleting a field": Shown(f"{settings}fields/city/delete/"),
        "a new tag": Shown(f"{settings}tags/add/", save_nothing),
        "a tag": Shown(f"{settings}tags/{tag.pk}/"),
        "deleting a tag": Shown(f"{settings}tags/{tag.pk}/delete/"),
        "sign-up link and form": Shown(f"{READERS}form/", _choose_a_tag),
        "no export": Shown("/admin/newsletters/download/"),
        "an export": Shown("/admin/newsletters/download/", export),
    }


def moving_issues(author: Any) -> Pages:
    """Return the page of past issues in its states."""
    path = "/admin/newsletters/move/issues/"
    rows = [{"post_id": f"{n}.{LONGEST[:60]}", "title": LONGEST} for n in range(2)]
    letter = f'<p>Hi</p><img src="https://pictures.example/{LONGEST[:60]}.png">'
    export = substack(letter, *rows, {"post_id": "7.x", "audience": "only_paid"})

    def move(page: Page) -> None:
        upload(page, "substack.zip", "application/zip", export, "Exported file", "Move in")
        expect(page.get_by_text("waiting for a worker")).to_be_visible()

    def run(page: Page) -> None:
        run_next_move(lambda: False)
        page.reload()
        expect(page.get_by_text("3 issues were moved in.")).to_be_visible()
        page.get_by_text("was not public").click()

    def refuse(page: Page) -> None:
        upload(page, "other.zip", "application/zip", b"no ZIP", "Exported file", "Move in")
        expect(page.get_by_text("waiting for a worker")).to_be_visible()
        run_next_move(lambda: False)
        page.reload()
        expect(page.get_by_text("Nothing was moved in.")).to_be_visible()

    return {
        "no move": Shown(path),
        "a queued move": Shown(path, move),
        "a finished move": Shown(path, run),
        "moved-in issues": Shown("/admin/newsletters/issues/"),
        "a refused move": Shown(path, refuse),
    }
