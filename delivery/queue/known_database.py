"""SQL conditions: is this the database that the workers knew (database_identity.py)?"""

# A value that the server does not report is empty, and is not compared.
DIFFERS = """(
    stored.database <> this.database
    OR (stored.system_identifier <> this.system_identifier
        AND stored.system_identifier <> '' AND this.system_identifier <> '')
    OR (stored.timeline <> this.timeline AND stored.timeline <> '' AND this.timeline <> ''))"""

# Part of the statement that claims a batch: uncorrelated, so it is worked out once a statement.
IS_THE_KNOWN_DATABASE = (
    f"NOT EXISTS (SELECT FROM database_identity AS stored, this_database() AS this WHERE {DIFFERS})"
)
