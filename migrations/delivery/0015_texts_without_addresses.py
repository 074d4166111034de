"""Redact addresses in the provider's texts that were stored before."""

from django.db import migrations

# In the order in which workers lock these rows. Quotation marks and backslashes end a match, so
# that the JSON stays valid.
REDACT = "".join(
    f"""
    UPDATE {table}
       SET {column} = regexp_replace({column}, '[^[:space:]"<>\\\\]*(@|%40|&#64;)'
                                               '[^[:space:]"<>\\\\]*', '…', 'g')
     WHERE {column} ~ '@|%40|&#64;';
    """  # noqa: S608 -- constants
    for table, column in (
        ("edition", "control_reason"),
        ("batch", "reason"),
        ("attempt", "detail"),
        ("suppression_change", "refusal_reason"),
    )
)


class Migration(migrations.Migration):
    dependencies = [("delivery", "0014_batch_functions_without_jit")]

    operations = [migrations.RunSQL(REDACT, migrations.RunSQL.noop)]
