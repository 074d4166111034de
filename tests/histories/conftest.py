"""Histories are played with the newsroom of the tests of delivery."""

from __future__ import annotations

import pytest

from tests.delivery.newsroom import Newsroom


@pytest.fixture
def newsroom(transactional_db: None) -> Newsroom:
    """An author with an empty list."""
    return Newsroom()
