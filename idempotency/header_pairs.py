"""
The column of type `header_pair[]`: an answer's headers, in order, each a name and raw bytes.

The driver would need to be told about the type on every connection. Writing it from two arrays
and reading it as two needs nothing, so the two expressions here are the only way in and out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

if TYPE_CHECKING:
    Field = models.Field[None, None]
else:
    Field = models.Field

# Takes two parameters: the names (text[]) and the values (bytea[]). unnest reads an array out in
# storage order, so headers come back in the order in which the view set them.
FROM_TWO_ARRAYS = (
    "ARRAY(SELECT ROW(name, value)::header_pair"
    " FROM unnest(%s::text[], %s::bytea[]) AS pair(name, value))"
)
NAMES = "ARRAY(SELECT name FROM unnest(response_headers))"
VALUES = "ARRAY(SELECT value FROM unnest(response_headers))"


class HeaderPairsField(Field):
    """Gives the column its type. Its content is read and written with the SQL above."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        """Name the type that the first migration creates."""
        return "header_pair[]"
