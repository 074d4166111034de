"""Upload a list on the desk and let workers check it."""

from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile

from subscribers.importing import accept_upload
from subscribers.importing.accept_upload import Statement
from subscribers.importing.file_format.read_file import ReaderFile
from subscribers.importing.import_task import run_next_import
from subscribers.models import SubscriberImport
from tests.publishing.author_browser import Page, WindowOf

IMPORTS = "/admin/newsletters/imports/"
FAIR = (
    "E-Mail;Nome;Ort\r\n"
    "lidia.ramos@weir.example.org;Lídia Ramos;4\r\n"
    "known@example.org;Known;\r\n"
    "left@example.org;Left;\r\n"
    "LIDIA.RAMOS@weir.example.org;Again;\r\n"
    "paul@@orchard.example.org;Paul;\r\n"
    "rosa@example.org;Rosa;7\r\n"
).encode("cp1252")


def someone(name: str, *permissions: str) -> Any:
    """Make an account of Edith Marlow with these permissions."""
    user = get_user_model().objects.create_user(
        name, password="a long password", is_staff=True, first_name="Edith", last_name="Marlow"
    )
    for codename in permissions:
        user.user_permissions.add(Permission.objects.get(codename=codename))
    return user


def upload(window: WindowOf, content: bytes, name: str = "village-fair.csv") -> Page:
    return window.post(IMPORTS, file=SimpleUploadedFile(name, content))  # type: ignore[arg-type]


def uploaded(window: WindowOf, content: bytes = FAIR) -> str:
    """Upload a file, let a worker check it, and return the address of its page."""
    answer = upload(window, content)
    assert answer.status == 303, answer.words
    run_workers()
    return str(answer.answer.headers["Location"])


def run_workers() -> None:
    """Run every due check and import to its end."""
    while run_next_import():
        pass


def kept_in_waiting(path: Path) -> SubscriberImport:
    """Store a file for a worker."""
    with ReaderFile(path, path.name) as file, path.open("rb") as content:
        return accept_upload.store_for_import(
            file, content, path.name, Statement(confirmed=True).columns()
        )[0]
