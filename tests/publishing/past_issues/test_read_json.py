"""Values of a large JSON file are read without loading the whole file."""

import tempfile

import pytest

from benchmarks.hostile_files import ghost
from publishing.past_issues.past_issue import Skip, SkipIssueError
from publishing.past_issues.read_export import Export
from publishing.past_issues.read_json import JSONFile, JSONFormatError


def opened(text: str | bytes) -> JSONFile:
    with tempfile.TemporaryFile() as file:
        file.write(text if isinstance(text, bytes) else text.encode())
        file.flush()
        return JSONFile(file)


def test_values_are_found_by_their_path() -> None:
    file = opened(
        b"\xef\xbb\xbf"
        + """ {"x": "]}", "a": [1], "y": {"a": {}}, "a" : [ {"b\\"": [[]], "t": "\\"\\u00e9\u00e9",
        "n": -12, "yes": true, "none": null, "list": [1], "long": "12345"} ,
        {}, "]", 1.5, [] ] }""".encode()
    )
    # If an object has two members with the same name, the last member counts, as in Python.
    array = file.member(file.root, b"a")
    assert file.is_array(array)
    first, *others = file.elements(array)
    names = (b"t", b"n", b"yes", b"none", b"long", b"missing")
    assert file.scalars(first, *names, longest=10) == {
        "t": '"éé', "n": -12, "yes": True, "none": None, "long": "12345",
    }  # fmt: skip
    assert file.scalars(first, b"long", longest=4) == {"long": None}
    assert [file.scalars(other, b"t", longest=9) for other in others] == [{}] * 4
    assert file.member(file.root, b"missing") is None


@pytest.mark.parametrize(
    "text", ["", '{"a', '{"a": [', '{"a": [1}', '{"a": "', '{"b": 1, "a": [1] "c": 2', '{"a": [[}']
)
def test_broken_json_is_refused(text: str) -> None:
    def read() -> None:
        file = opened(text)
        list(file.elements(file.member(file.root, b"a")))

    with pytest.raises(JSONFormatError):
        read()


def test_an_open_text_of_quotes_is_refused_in_linear_time() -> None:
    file = opened('{"x": [' + '"' + '\\"' * 500_000)
    with pytest.raises(JSONFormatError):
        file.member(file.root, b"a")


def test_a_broken_value_beside_a_letter_skips_one_issue() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(ghost(posts=',{"html": "<p>x</p>", "feature_image": "\\x"}'))
        file.flush()
        export = Export(file, "https://a.example.org")

    broken = export.issues[0]  # an issue without a date
    with pytest.raises(SkipIssueError) as skipped:
        export.letter_of(broken)
    assert skipped.value.reason is Skip.UNREADABLE
