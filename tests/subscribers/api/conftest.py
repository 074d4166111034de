"""The program of somebody who may manage readers."""

from __future__ import annotations

import pytest

from tests.newsletter_site.calling import Program
from tests.subscribers.importing_by_hand import someone


@pytest.fixture
def program(transactional_db: None) -> Program:
    """The program of Edith Marlow, who may manage readers."""
    return Program(someone("edith", "manage_readers"))
