"""The menu marks the entry that the shown page belongs to."""

import uuid

import pytest
from django.template import Context, Template
from django.test import RequestFactory
from django.urls import reverse

ENTRIES = ("write", "issues", "readers", "imports", "settings", "log", "authors", "profile")
ID = uuid.UUID(int=7)


@pytest.mark.parametrize(
    ("entry", "page", "arguments"),
    [
        ("write", "desk:publish", []),
        ("write", "desk:write", []),
        ("write", "desk:drafts", []),
        ("write", "desk:check", [ID]),
        ("write", "desk:images", []),
        ("write", "desk:edit_snippet", [7]),
        ("write", "desk:test", []),
        ("issues", "desk:issues", []),
        ("issues", "desk:progress", [ID]),
        ("issues", "desk:check_receipt", []),
        ("issues", "desk:move_issues", []),
        ("readers", "readers:embed_form", []),
        ("imports", "readers:import", [7]),
        ("imports", "readers:move", []),
        ("settings", "readers:settings", []),
        ("settings", "desk:look", []),
        ("log", "desk:log", []),
        (None, "desk:test_letter", [7]),
        (None, "desk:export", []),
        (None, "desk:welcome", []),
        ("authors", "authors", []),
        ("authors", "act_on_author", [ID, "role"]),
        ("profile", "leave", []),
        (None, "tokens", []),
    ],
)
def test_the_menu_marks_the_entry_of_a_page(
    entry: str | None, page: str, arguments: list[object]
) -> None:
    request = RequestFactory().get(reverse(page, args=arguments))
    marked = {
        name: Template(f"{{% here '{name}' %}}").render(Context({"request": request}))
        for name in ENTRIES
    }
    assert marked == dict.fromkeys(ENTRIES, "") | ({entry: ' aria-current="page"'} if entry else {})
