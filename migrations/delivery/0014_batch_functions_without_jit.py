"""No JIT compilation in the functions that claim, start and settle a batch.

They forbid sequential scans. If PostgreSQL before 18 uses one all the same, for example on a table
of one row, it adds 10,000,000,000 to the cost. With the default `jit = on` it therefore compiled
each claim, which took 100 ms. The setting of a function also applies behind a pooler.
"""

from django.db import migrations

FUNCTIONS = (
    *("claim_batch", "start_batch", "record_attempt", "settle_batch"),
    *("write_sent", "unapplied_evidence"),
)


class Migration(migrations.Migration):
    dependencies = [("delivery", "0013_results_of_editions")]

    operations = [
        migrations.RunSQL(
            "".join(f"ALTER FUNCTION {name} SET jit = off;" for name in FUNCTIONS),
            "".join(f"ALTER FUNCTION {name} RESET jit;" for name in FUNCTIONS),
        )
    ]
