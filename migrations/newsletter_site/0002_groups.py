"""Add the five groups of users."""

from __future__ import annotations

from django.db import migrations

from newsletter_site.groups import GROUPS


def seed(apps, schema_editor):
    """Add the groups with their permissions; an existing group keeps its permissions.

    Create the permissions here, because Django creates them only after the last migration.
    """
    group_model = apps.get_model("auth", "Group")
    permission_model = apps.get_model("auth", "Permission")
    content_type_model = apps.get_model("contenttypes", "ContentType")
    for name, permissions in GROUPS.items():
        group, _ = group_model.objects.get_or_create(name=name)
        for app, model, codename, words in permissions:
            content_type, _ = content_type_model.objects.get_or_create(app_label=app, model=model)
            permission, _ = permission_model.objects.get_or_create(
                content_type=content_type, codename=codename, defaults={"name": words}
            )
            group.permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [
        ("newsletter_site", "0001_authors_and_api_tokens"),
        ("publishing", "0001_issue"),
        ("subscribers", "0001_readers_and_consent"),
        ("delivery", "0001_editions_and_deliveries"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunPython(seed, migrations.RunPython.noop)]
