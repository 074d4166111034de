"""SQL conditions for whether workers knew this database (database_identity.py)."""

# A value that the server does not report is empty and is not compared.
DIFFERS = """(
    stored.database <> this.database
    OR (stored.system_identifier <> this.system_identifier
        AND stored.system_identifier <> '' AND this.system_identifier <> '')
    OR (stored.timeline <> this.timeline AND stored.timeline <> '' AND this.timeline <> ''))"""

# Part of the claim statement. It is uncorrelated, so it is computed once per statement.
IS_THE_KNOWN_DATABASE = f"""
    NOT EXISTS (SELECT FROM database_identity AS stored, this_database_1() AS this WHERE {DIFFERS})
"""
