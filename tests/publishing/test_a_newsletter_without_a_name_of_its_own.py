"""A newsletter that still has the name it was installed with: who is told, and until when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from delivery.models import Newsletter
from idempotency.key import fresh_key
from publishing import drafts
from publishing.drafts import Wording
from publishing.written import Written
from tests.publishing.window_of import WindowOf

pytestmark = pytest.mark.django_db(transaction=True)

DESK = "/admin/newsletters/issues/"
SETTINGS = "/admin/delivery/newsletter/1/change/"
SAID = "The newsletter is still called “The Homing Letter”"


def name_it() -> None:
    Newsletter.objects.update(name="Tide Tables")


def test_whoever_may_change_it_reads_on_the_desk_that_it_has_no_name_of_its_own(
    new_author: Callable[..., Any],
) -> None:
    operator = WindowOf(new_author("otto", "publish_edition", "change_newsletter"))

    page = operator.get(DESK)
    assert SAID in page.words
    assert f'href="{SETTINGS}"' in page.html

    name_it()
    assert SAID not in operator.get(DESK).words


def test_of_the_name_the_desk_asks_nobody_who_may_not_change_it(window: WindowOf) -> None:
    assert SAID not in window.get(DESK).words


def test_the_check_of_a_draft_says_that_the_newsletter_has_no_name_of_its_own(
    author: Any, window: WindowOf
) -> None:
    words = Written("Swifts leave", "", "markdown", "They have gone.", "")
    draft = drafts.begin(author.pk, fresh_key(), Wording(words), issue=None).draft
    check = f"/admin/newsletters/drafts/{draft.pk}/check/"

    assert SAID in window.get(check).words

    name_it()
    assert SAID not in window.get(check).words
