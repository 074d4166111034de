"""Signing in as Django does it, with whoever is signed in and all they may do in one query."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import Permission
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, OuterRef, Q, Value
from django.db.models.functions import Concat

_NAME = Concat(F("content_type__app_label"), Value("."), F("codename"))
_OF_THE_USER = (
    Permission.objects.filter(Q(user=OuterRef("pk")) | Q(group__user=OuterRef("pk")))
    .order_by()
    .values_list(_NAME)
)


class UserWithPermissions(ModelBackend):
    """
    Django asks for the user, for their own permissions and for those of their groups, a query each.

    A page that stays open asks who its reader is at every reading, while workers send.
    """

    def get_user(self, user_id: Any) -> Any:
        """The user of a session with what they may do; None if there is none who may sign in."""
        users = get_user_model()._default_manager.annotate(_may=ArraySubquery(_OF_THE_USER))
        user = users.filter(pk=user_id).first()
        if user is None or not self.user_can_authenticate(user):
            return None
        if not user.is_superuser:
            # Where Django keeps them for the length of a request, once it has asked; django-stubs
            # leaves that out.
            user._perm_cache = set(user._may)  # type: ignore[attr-defined]
        return user
