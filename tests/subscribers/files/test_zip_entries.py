"""A ZIP file from an unknown source is read within limits."""

import io
import struct
import zipfile

import pytest

from subscribers.files import zip_entries
from subscribers.files.zip_entries import UnusableZipError, ZipEntries


def zipped(files: dict[str, bytes]) -> bytearray:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return bytearray(file.getvalue())


def opened(content: bytes) -> ZipEntries:
    return ZipEntries(io.BytesIO(content))


def test_entries_are_found_by_the_end_of_their_path() -> None:
    found = opened(
        zipped(
            {
                "a/posts.csv": b"deep",
                "my-posts.csv": b"other",
                "__MACOSX/posts.csv": b"",
                "a/.posts.csv": b"",
                "a/": b"",
            }
        )
    )
    assert found.paths == ["a/posts.csv", "my-posts.csv"]
    assert found.read(found.find("posts.csv") or "", 10) == b"deep"
    assert found.find("osts.csv") is None


def test_an_entry_beyond_its_limit_is_not_unpacked() -> None:
    found = opened(zipped({"zeros": bytes(1_000_000)}))
    with pytest.raises(UnusableZipError, match="1,000,000 bytes; the limit is 999,999"):
        found.read("zeros", 999_999)


def test_an_entry_that_lies_about_its_size_is_cut() -> None:
    content = zipped({"zeros": bytes(1_000_000)})
    struct.pack_into("<L", content, content.rfind(b"PK\1\2") + 24, 10)
    with pytest.raises(UnusableZipError, match="damaged"):
        opened(content).read("zeros", 100)


@pytest.mark.parametrize("limit", ["MOST_ENTRIES", "MOST_UNPACKED", "_MOST_DIRECTORY"])
def test_too_many_entries_are_refused(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    content = zipped({"one": b"12", "two": b"34"})
    opened(content)
    monkeypatch.setattr(zip_entries, limit, 1)
    with pytest.raises(UnusableZipError, match="too many entries"):
        opened(content)


@pytest.mark.parametrize(
    "content", [b"", b"PK\5\6", b"no ZIP", b"PK\5\6" + bytes(8) + b"." + bytes(9)]
)
def test_a_damaged_file_has_a_clear_message(content: bytes) -> None:
    with pytest.raises(UnusableZipError, match="damaged"):
        opened(content)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_two_entries_have_is_refused() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in ("one", "list.csv", "list.csv"):
            archive.writestr(name, "a")
    found = ZipEntries(content)
    assert found.read("one", 1) == b"a"
    with pytest.raises(UnusableZipError, match="with the name “list"):
        found.read("list.csv", 1)


def test_a_newer_zip_version_is_refused() -> None:
    content = zipped({"one": b"12"})
    content[content.rfind(b"PK\1\2") + 6] = 255
    with pytest.raises(UnusableZipError, match="damaged"):
        opened(content)


def test_a_directory_of_another_format_is_refused() -> None:
    content = zipped({"one": b"12"})
    at = content.rfind(b"PK\5\6")
    content[at:at] = b"PK\6\7" + bytes(16)
    with pytest.raises(UnusableZipError, match="too many entries"):
        opened(content)
