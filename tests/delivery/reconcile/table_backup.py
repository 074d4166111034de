"""A backup within the database itself: the tables' rows, kept and put back."""

from django.db import connection

TABLES = ("edition", "batch", "delivery", "attempt", "evidence", "alarm", "database_identity")


class KeptRows:
    """The rows of delivery's tables as they are now. Cleaning after the test drops them."""

    def __init__(self) -> None:
        with connection.cursor() as cursor:
            for table in TABLES:
                cursor.execute(f"DROP TABLE IF EXISTS kept_{table}")
                cursor.execute(f"CREATE TABLE kept_{table} AS TABLE {table}")

    def restore(self) -> None:
        """Have the tables as they were: what was written since is forgotten."""
        with connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {', '.join(TABLES)} CASCADE")
            for table in TABLES:
                cursor.execute(f"INSERT INTO {table} TABLE kept_{table}")
