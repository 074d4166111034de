"""How the desk writes who sends."""

from __future__ import annotations

import pytest

from publishing.templatetags.desk import mailbox


@pytest.mark.parametrize(
    ("sender", "shown"),
    [
        ("Homing <letter@example.org>", "Homing <letter@example.org>"),
        ('"Marlow, The Almanack" <l@example.org>', "Marlow, The Almanack <l@example.org>"),
        ("letter@example.org", "letter@example.org"),
    ],
)
def test_a_sender_is_shown_without_the_quotation_marks_that_a_header_wants(sender, shown):
    assert mailbox(sender) == shown
