"""Find the lists of readers, and count the posts, in a product's ZIP file."""

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

from subscribers.files.zip_entries import UnusableZipError, ZipEntries
from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.file_format.status_columns import MAILCHIMP_EXPORT

_ZIP = b"PK\x03\x04"
_LISTS = (".csv", ".tsv", ".txt")
# In an export of Homing, the list of addresses that must not be mailed is read first.
HOMING_MARK = "homing.json"
_HOMING = ("suppressions.csv", "readers.csv")
_SUBSTACK_LIST = re.compile(r"email_list\b.*\.csv", re.IGNORECASE)
_OF_ISSUES = re.compile(r"(posts|emails)\.csv|.*\.(delivers|opens)\.csv", re.IGNORECASE)
# If a ZIP file contains the file that a key names, the paths of its posts match the key's pattern.
# All versions of an issue of Homing count as one post.
_POSTS = {
    "posts.csv": re.compile(r"(?:.*/)?posts/([^/]+)\.html"),
    "emails.csv": re.compile(r"(?:.*/)?emails/([^/]+)\.md"),
    "emails.json": re.compile(r"(?:.*/)?emails/([^/]+)\.md"),
    HOMING_MARK: re.compile(r"(?:.*/)?issues/([^/]+)/version-[0-9]+/issue\.json"),
}
_MOST_NAMED, _LONGEST_NAME = 5, 60
_MOST_LISTS = 20  # larger than the number of lists in any product's export


def choose_lists(paths: Sequence[str]) -> list[str]:
    """Choose the files of readers among the paths in a ZIP file.

    Raises `UnreadableFileError` if there is no file of readers, or if it is unclear which of
    several files has the readers.
    """
    lists = {path: path.rpartition("/")[2] for path in paths if path.lower().endswith(_LISTS)}
    names = {name: path for path, name in reversed(lists.items())}
    if HOMING_MARK in {path.rpartition("/")[2] for path in paths}:
        found = [names[name] for name in _HOMING if name in names]
        if not found:
            raise UnreadableFileError("file_is_zip")
        return found
    for of_product in (MAILCHIMP_EXPORT.match, _SUBSTACK_LIST.fullmatch):
        found = [path for path, name in lists.items() if of_product(name)]
        if 0 < len(found) <= _MOST_LISTS:
            return sorted(found, key=lambda path: (may_be_mailed(lists[path]), path))
    found = [path for path, name in lists.items() if not _OF_ISSUES.fullmatch(name)]
    if len(found) > 1:
        found = [path for path in found if path.lower().endswith(".csv")] or found
    if not found:
        raise UnreadableFileError("zip_of_posts" if count_posts(paths) else "file_is_zip")
    if len(found) > 1:
        shown = [lists[path][:_LONGEST_NAME] for path in found[:_MOST_NAMED]]
        raise UnreadableFileError("zip_with_several_lists", names=shown)
    return found


def may_be_mailed(name: str) -> bool:
    """Return whether a list may have readers to mail, judging by the list's name.

    Lists with readers to mail are imported last, because the other lists say which readers left,
    and Homing must know these readers first.
    """
    said = MAILCHIMP_EXPORT.match(name)
    return name not in _HOMING[:1] and (said is None or said[1].lower() == "subscribed")


def count_posts(paths: Sequence[str]) -> int:
    """Count the posts, including drafts, among the paths in a ZIP file."""
    names = {path.rpartition("/")[2] for path in paths}
    forms = [form for name, form in _POSTS.items() if name in names]
    return len({found[1] for path in paths for form in forms if (found := form.fullmatch(path))})


def posts_in(file: BinaryIO) -> int:
    """Count the posts in a ZIP file; 0 for other files and for an unreadable ZIP file."""
    try:
        return count_posts(ZipEntries(file).paths) if is_zip(file) else 0
    except UnusableZipError:
        return 0  # `open_lists` says why the file cannot be read


def lists_in(file: BinaryIO) -> list[str]:
    """Return the names of the lists of readers in a ZIP file; empty for other files."""
    try:
        found = choose_lists(ZipEntries(file).paths) if is_zip(file) else []
    except (UnusableZipError, UnreadableFileError):
        return []
    return [path.rpartition("/")[2] for path in found]


def is_zip(file: BinaryIO) -> bool:
    """Return whether the file starts like a ZIP file.

    Moves the file's position to the start.
    """
    file.seek(0)
    start = file.read(len(_ZIP))
    file.seek(0)
    return start == _ZIP


@contextmanager
def open_lists(file: BinaryIO, filename: str, most: int) -> Iterator[list[tuple[BinaryIO, str]]]:
    """Open the file, or each list in a ZIP file; yield each open file with its name.

    Each file may have at most `most` bytes. Raises `UnreadableFileError` if a ZIP file has no file
    of readers.
    """
    if not is_zip(file):
        yield [(file, filename)]
        return
    with ExitStack() as stack:
        opened: list[tuple[BinaryIO, str]] = []
        try:
            entries = ZipEntries(file)
            for path in choose_lists(entries.paths):
                copy = stack.enter_context(tempfile.TemporaryFile(prefix="homing-import-"))
                entries.copy(path, copy, most)
                opened.append((copy, path.rpartition("/")[2]))
        except UnusableZipError as error:
            raise UnreadableFileError("zip_unusable", reason=str(error)) from None
        yield opened
