"""Inserts batches."""


def insert_batches(rows: str, *more_columns: str) -> str:
    """The SQL that inserts a batch for each of `rows`; everything in it waits.

    `rows` selects id, edition, position, state, due time and size, then `more_columns`."""
    columns = ", ".join(("id", "edition_id", "pos", "state", "due_at", "size", *more_columns))
    return f"""
        INSERT INTO batch ({columns}, waiting)
        SELECT {columns}, size FROM ({rows}) AS new ({columns})
    """  # noqa: S608 -- the columns are constants
