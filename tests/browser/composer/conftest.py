"""A draft of the author, and the composer, empty or with this draft."""

import pytest
from playwright.sync_api import Page

from publishing.content.draft_content import MARKDOWN, DraftFields
from publishing.models import Draft
from tests.browser.author_session import (
    LETTER,
    TITLE,
    WRITE,
    is_ready,
)
from tests.browser.pages.desk_pages import begun


@pytest.fixture
def draft(author) -> Draft:
    return begun(author, DraftFields(title=TITLE, format=MARKDOWN, letter=LETTER))


@pytest.fixture
def composer(desk) -> Page:
    desk.goto(WRITE)
    return is_ready(desk)


@pytest.fixture
def writing(new_page, author, draft) -> Page:
    # Force no colour scheme on the frame, as in an author's own browser.
    page = new_page(author, color_scheme="null")
    page.goto(f"/admin/newsletters/drafts/{draft.pk}/")
    return is_ready(page)
