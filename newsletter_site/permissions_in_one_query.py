"""Signing in as Django does it, with everything that somebody may do read in one query."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import Permission
from django.db.models import Q


class PermissionsInOneQuery(ModelBackend):
    """
    Django asks for a user's own permissions and for those of their groups in a query each.

    A page that stays open asks what its reader may do at every reading, while workers send.
    """

    def get_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        """`app.codename` of all that an active user may do; kept on the user for this request."""
        if not user_obj.is_active or user_obj.is_anonymous or obj is not None:
            return set()
        if not hasattr(user_obj, "_perm_cache"):
            which = Permission.objects.all()
            if not user_obj.is_superuser:
                which = which.filter(Q(user=user_obj) | Q(group__user=user_obj)).distinct()
            names = which.order_by().values_list("content_type__app_label", "codename")
            user_obj._perm_cache = {f"{app}.{codename}" for app, codename in names}
        return set(user_obj._perm_cache)
