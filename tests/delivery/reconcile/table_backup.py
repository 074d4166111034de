"""Keep the rows of delivery's tables within the database, and restore them."""

from django.db import connection

TABLES = ("edition", "batch", "delivery", "attempt", "evidence", "alarm", "database_identity")


class KeptRows:
    """Copies of delivery's tables at one moment; they are dropped after the test."""

    def __init__(self) -> None:
        with connection.cursor() as cursor:
            for table in TABLES:
                cursor.execute(f"DROP TABLE IF EXISTS kept_{table}")
                cursor.execute(f"CREATE TABLE kept_{table} AS TABLE {table}")

    def restore(self) -> None:
        """Restore the tables and discard all later changes."""
        with connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {', '.join(TABLES)} CASCADE")
            for table in TABLES:
                cursor.execute(f"INSERT INTO {table} TABLE kept_{table}")
