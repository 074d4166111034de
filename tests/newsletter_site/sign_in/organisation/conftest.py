"""A site with an OpenID provider, and Edith, whose address the provider knows."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth import get_user_model

from tests.newsletter_site.sign_in.organisation.openid_provider import (
    CLIENT,
    SECRET,
    OpenidProvider,
    running_provider,
)


@pytest.fixture(scope="session")
def _provider() -> Iterator[OpenidProvider]:
    with running_provider() as provider:
        yield provider


@pytest.fixture(autouse=True)
def provider(_provider: OpenidProvider, settings: LazySettings) -> OpenidProvider:
    """Set the provider up as the site's issuer."""
    _provider.reset()
    settings.OIDC_ISSUER = _provider.url
    settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = CLIENT, SECRET
    settings.OIDC_NAME = "The Post House"
    return _provider


@pytest.fixture(autouse=True)
def author(transactional_db: None) -> Any:
    """Create Edith, who has all permissions and no password."""
    return get_user_model().objects.create_superuser("edith", "Edith@example.org")
