"""Files to import, the import command, and a concurrent connection."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection

from tests.newsletter_site.api_caller import Program
from tests.publishing.author_browser import WindowOf
from tests.subscribers.importing.import_browser import someone

FileOf = Callable[..., Path]


@dataclass
class Printed:
    text: str

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def summary(self) -> dict[str, Any]:
        return dict(json.loads(self.lines[-1]))

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of rows by result, without results that have no rows."""
        results = ("added", "known", "duplicates", "skipped", "rejected")
        return {result: self.summary[result] for result in results if self.summary[result]}


# The fixture `import_subscribers` takes a path and options. The fixture `import_rows` takes the
# rows of a file.
ImportSubscribers = ImportRows = Callable[..., Printed]


@pytest.fixture
def file_of(tmp_path: Path) -> FileOf:
    """Write lines, or bytes as they are, to a file; by default with a header."""

    def write(
        *lines: str,
        content: bytes | None = None,
        header: str = "email,name",
        name: str = "list.csv",
    ) -> Path:
        path = tmp_path / name
        if content is None:
            content = "".join(f"{line}\n" for line in (header, *lines)).encode()
        path.write_bytes(content)
        return path

    return write


@pytest.fixture
def import_subscribers() -> ImportSubscribers:
    def run(path: Path, *options: str) -> Printed:
        out = io.StringIO()
        call_command("import_subscribers", str(path), *options, stdout=out, stderr=io.StringIO())
        return Printed(out.getvalue())

    return run


@pytest.fixture
def import_rows(file_of: FileOf, import_subscribers: ImportSubscribers) -> ImportRows:
    """Write a file, as `file_of` does, and import it with these options."""

    def run(*lines: str, options: tuple[str, ...] = (), **words: Any) -> Printed:
        return import_subscribers(file_of(*lines, **words), *options)

    return run


@pytest.fixture
def author(db: None) -> Any:
    """Make an account of Edith Marlow, who may manage readers."""
    return someone("edith", "manage_readers")


@pytest.fixture
def window(author: Any) -> WindowOf:
    """Sign Edith in."""
    return WindowOf(author)


@pytest.fixture
def program(author: Any) -> Program:
    """Make an API client for Edith."""
    return Program(author)


@pytest.fixture
def other_session(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    """Open another connection with a separate transaction."""
    with psycopg.connect(database_url) as other:
        yield other
        other.rollback()


def not_to_mail(recipients: list[int], kind: str) -> dict[int, str]:
    """Return who gets no copy, from the SQL function that `start_batch` uses."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM readers_who_get_no_copy_1(%s, %s)", [recipients, kind])
        return dict(cursor.fetchall())
