"""One query finds the signed-in user and the same permissions as Django's backend."""

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import Group, Permission

from newsletter_site.one_query_permissions import PermissionsBackend

pytestmark = pytest.mark.django_db


def the_user(**properties):
    return get_user_model().objects.create_user("ada", password=None, **properties)


def permissions_by_django(user):
    return ModelBackend().get_all_permissions(get_user_model().objects.get(pk=user.pk))


def test_group_and_own_permissions_come_in_one_query(django_assert_num_queries):
    user = the_user()
    user.groups.set(Group.objects.filter(name__in=["Writers", "Operators"]))
    user.user_permissions.add(Permission.objects.get(codename="manage_readers"))
    with django_assert_num_queries(1):
        found = PermissionsBackend().get_user(user.pk)
        may = found.get_all_permissions()
    assert may == permissions_by_django(user)
    assert found.has_perm("subscribers.manage_readers")
    assert found.has_perm("publishing.write_draft")
    assert not found.has_perm("publishing.publish_edition")


def test_superusers_have_every_permission_and_others_none():
    user = the_user()
    assert PermissionsBackend().get_user(user.pk).get_all_permissions() == set()
    user.is_superuser = True
    user.save()
    assert PermissionsBackend().get_user(user.pk).get_all_permissions() == permissions_by_django(
        user
    )


def test_inactive_users_are_not_signed_in():
    assert PermissionsBackend().get_user(the_user(is_active=False).pk) is None
    assert PermissionsBackend().get_user("00000000-0000-4000-8000-000000000000") is None
