"""No JIT compilation when a call starts (migrations/delivery/0014 gives the reason)."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0018_sign_ups_from_the_archive")]

    operations = [
        migrations.RunSQL(
            "ALTER FUNCTION readers_not_to_mail SET jit = off",
            "ALTER FUNCTION readers_not_to_mail RESET jit",
        )
    ]
