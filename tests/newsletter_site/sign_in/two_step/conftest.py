"""Edith, with and without two-step sign-in."""

import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from tests.newsletter_site.sign_in.two_step.two_step_browser import (
    PAGE,
    PASSWORD,
    Browser,
    code_now,
    time_goes_by,
)


@pytest.fixture(autouse=True)
def author(transactional_db: None) -> Any:
    """Create Edith, who has all permissions."""
    return get_user_model().objects.create_superuser("edith", password=PASSWORD)


@pytest.fixture
def codes(author: Any) -> list[str]:
    """Turn two-step sign-in on for Edith, and return her recovery codes."""
    window = Browser()
    window.sign_in()
    window.send(PAGE, do="begin", password_or_code=PASSWORD)
    page = window.send(PAGE, do="confirm", code=code_now())
    time_goes_by()
    return re.findall(r"<li><code>(.+?)</code>", page.content.decode())
