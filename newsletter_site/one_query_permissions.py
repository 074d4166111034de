"""Load permissions with one query, not three, because open pages reload often."""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import Permission
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, OuterRef, Q, Value
from django.db.models.functions import Concat

_NAME = Concat(F("content_type__app_label"), Value("."), F("codename"))
_PERMISSIONS = (
    Permission.objects.filter(Q(user=OuterRef("pk")) | Q(group__user=OuterRef("pk")))
    .order_by()
    .values_list(_NAME)
)


class PermissionsBackend(ModelBackend):
    """Load a user with their own permissions and those of their groups."""

    def get_user(self, user_id: Any) -> Any:
        users = get_user_model()._default_manager.annotate(_may=ArraySubquery(_PERMISSIONS))
        user = users.filter(pk=user_id).first()
        if user is None or not self.user_can_authenticate(user):
            return None
        if not user.is_superuser:
            # Fill Django's cache of permissions, which lasts for one request.
            user._perm_cache = set(user._may)  # type: ignore[attr-defined]
        return user
