"""Set the credentials that events must send to the webhook."""

from typing import Any

import pytest

from tests.delivery.webhook_events import PASSWORD, USER


@pytest.fixture(autouse=True)
def credentials_are_set(settings: Any) -> None:
    settings.POSTMARK_WEBHOOK_USER, settings.POSTMARK_WEBHOOK_PASSWORD = USER, PASSWORD
