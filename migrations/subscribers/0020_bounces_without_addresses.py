"""Redact addresses in the descriptions of bounces that were stored before."""

from django.db import migrations

REDACT = """
    UPDATE bounce
       SET description = regexp_replace(description, '[^[:space:]"<>]*(@|%40|&#64;)[^[:space:]"<>]*',
                                        '…', 'g')
     WHERE description ~ '@|%40|&#64;'
"""


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0019_readers_not_to_mail_without_jit")]

    operations = [migrations.RunSQL(REDACT, migrations.RunSQL.noop)]
