"""The API client of a user who may manage readers."""

import pytest

from tests.newsletter_site.api_caller import Program
from tests.subscribers.importing.import_browser import someone


@pytest.fixture
def program(transactional_db: None) -> Program:
    """Make an API client for Edith Marlow, who may manage readers."""
    return Program(someone("edith", "manage_readers"))
