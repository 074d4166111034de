"""Whatever is done with a second factor, by its owner or an operator, stands in the log."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command

from tests.newsletter_site.second_factor.a_browser import PAGE, PASSWORD, Browser, code_now


def test_an_operator_takes_it_away_from_whoever_lost_everything(codes: list[str]) -> None:
    window = Browser()
    window.sign_in(code_now())

    call_command("remove_second_factor", "edith")

    assert not window.is_signed_in
    assert Browser().sign_in().status_code == 302
    with pytest.raises(CommandError, match="has no second factor"):
        call_command("remove_second_factor", "edith")
    with pytest.raises(CommandError, match="no author"):
        call_command("remove_second_factor", "nobody")


def test_what_is_done_with_it_stands_in_the_log(codes: list[str]) -> None:
    window = Browser()
    window.sign_in(codes[0])
    window.send(PAGE, do="new-codes", proof=PASSWORD)
    window.send(PAGE, do="remove", proof=PASSWORD)

    said = list(LogEntry.objects.order_by("pk").values_list("change_message", flat=True))
    assert [words.partition(",")[0] for words in said] == [
        "Signed in from a browser that was not known yet",
        "Set up a second factor.",
        "Signed in from a browser that was not known yet",
        "Made new recovery codes.",
        "Took the second factor away.",
    ]
    assert "with a recovery code" in said[2]
