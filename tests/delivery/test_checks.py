"""Settings that contradict one another are named before anything is sent by them."""

from __future__ import annotations

import pytest

from delivery.checks import (
    silence_is_not_believed_before_the_deadline,
    webhooks_have_user_and_password,
)


@pytest.mark.parametrize(
    ("lookups", "deadline_s", "named"),
    [
        ((60.0, 300.0, 900.0), 120.0, False),
        ((60.0, 120.0), 120.0, False),
        ((60.0, 119.0), 120.0, True),
        ((1.0,), 5.0, True),
    ],
)
def test_a_last_look_up_before_the_deadline_is_advised_against(
    settings: object, lookups: tuple[float, ...], deadline_s: float, named: bool
) -> None:
    settings.DELIVERY_LOOKUP_AFTER_S = lookups  # type: ignore[attr-defined]
    settings.DELIVERY_HTTP_DEADLINE_S = deadline_s  # type: ignore[attr-defined]
    advice = list(silence_is_not_believed_before_the_deadline())
    assert [each.id for each in advice] == (["delivery.W002"] if named else [])


@pytest.mark.parametrize(
    ("user", "password", "begins"),
    [
        ("", "", []),
        ("postmark", "long and random", []),
        ("postmark", "", ["POSTMARK_WEBHOOK_USER is set and POSTMARK_WEBHOOK_PASSWORD is not"]),
        ("", "long", ["POSTMARK_WEBHOOK_PASSWORD is set and POSTMARK_WEBHOOK_USER is not"]),
    ],
)
def test_a_webhook_with_half_of_its_credentials_is_advised_against(
    settings: object, user: str, password: str, begins: list[str]
) -> None:
    settings.POSTMARK_WEBHOOK_USER = user  # type: ignore[attr-defined]
    settings.POSTMARK_WEBHOOK_PASSWORD = password  # type: ignore[attr-defined]
    assert [each.msg.split(":")[0] for each in webhooks_have_user_and_password()] == begins
