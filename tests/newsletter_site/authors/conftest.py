"""People with the roles of the desk."""

import importlib
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group

from newsletter_site.models import User

PASSWORD = "swifts over the hedge"


@pytest.fixture
def person(transactional_db: None) -> Callable[..., User]:
    """Create somebody who can sign in, and who is in these groups."""
    importlib.import_module("migrations.newsletter_site.0002_groups").seed(apps, None)

    def make(name: str, *groups: str, **columns: Any) -> User:
        email = f"{name}@example.org"
        made = User.objects.create_user(name, email, PASSWORD, is_staff=True, **columns)
        made.groups.set(Group.objects.filter(name__in=groups))
        return made

    return make


@pytest.fixture
def ada(person: Callable[..., User]) -> User:
    """Create the only administrator."""
    return person("ada", "Administrators")
