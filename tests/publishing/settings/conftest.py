"""Fixtures for an operator who changes the newsletter's settings."""

import pytest

from tests.publishing.author_browser import WindowOf


@pytest.fixture
def operator(new_author):
    """Create an author who may only change the newsletter."""
    return new_author("ola", "change_newsletter")


@pytest.fixture
def window(operator):
    """Return the operator's browser window."""
    return WindowOf(operator)
