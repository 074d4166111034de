"""Edith, with a browser that is signed in and a passkey that works."""

from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth import get_user_model

from tests.newsletter_site.sign_in.passkeys.passkey_browser import PasskeyBrowser
from tests.newsletter_site.sign_in.passkeys.software_passkey import SITE, SoftwarePasskey
from tests.newsletter_site.sign_in.two_step.two_step_browser import PASSWORD


@pytest.fixture(autouse=True)
def author(transactional_db: None, settings: LazySettings) -> Any:
    """Create Edith, who has all permissions."""
    settings.SITE_URL = SITE
    return get_user_model().objects.create_superuser("edith", password=PASSWORD)


@pytest.fixture
def own(author: Any) -> PasskeyBrowser:
    """Return the browser in which Edith signed in by password."""
    window = PasskeyBrowser()
    window.sign_in()
    return window


@pytest.fixture
def passkey(own: PasskeyBrowser) -> SoftwarePasskey:
    """Return a passkey that Edith added."""
    passkey = SoftwarePasskey()
    own.add(passkey)
    return passkey
