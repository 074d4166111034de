"""
How full pages are and when tables are cleaned: for those that change with every call.

Each ALTER TABLE here changes an entry of the catalogue and looks at no row. What it sets for pages
holds for rows that come from now on.
"""

from __future__ import annotations

from django.db import migrations

# A table of a few rows that change all the time: with room beside them they stay on their page, and
# it is cleaned by count, since a share of a few rows is nothing.
FEW_ROWS = {
    "fillfactor": "50",
    "autovacuum_vacuum_scale_factor": "0",
    "autovacuum_vacuum_threshold": "200",
    "autovacuum_analyze_scale_factor": "0",
    "autovacuum_analyze_threshold": "500",
}
# A table that grows with every call or event and loses what is old: a fifth of it, which is the
# server's own measure, would be a million dead rows.
GROWS = {
    "autovacuum_vacuum_scale_factor": "0.02",
    "autovacuum_vacuum_insert_scale_factor": "0.05",
    "autovacuum_analyze_scale_factor": "0.02",
}
SETTINGS = {
    # Beside what the second migration set.
    "delivery": {"autovacuum_analyze_scale_factor": "0.02"},
    "batch": {"autovacuum_vacuum_cost_delay": "0"},
    "attempt": GROWS,
    "evidence": GROWS,
    "provider_event": GROWS,
    "errand": FEW_ROWS,
    "pace": FEW_ROWS,
    "tally": FEW_ROWS,
    "worker": FEW_ROWS,
}


def _set(table: str) -> migrations.RunSQL:
    names = SETTINGS[table]
    return migrations.RunSQL(
        f"ALTER TABLE {table} SET ({', '.join(f'{name} = {names[name]}' for name in names)})",
        f"ALTER TABLE {table} RESET ({', '.join(names)})",
    )


class Migration(migrations.Migration):
    dependencies = [("delivery", "0019_only_what_is_over_is_dropped")]

    operations = [_set(table) for table in SETTINGS]
