"""The tags in one cell of a file, as products write them."""

import csv
import json
import re
from itertools import chain

from delivery.control_characters import CONTROL_CHARACTERS, clean_name
from subscribers.models.fields_and_tags import LONGEST_TAG
from subscribers.refusal_sentences import InputRefusal, refuse

MOST_TAGS_OF_A_ROW = 100
# Each name in a cell needs 4 more characters: two quotation marks, a comma and a space.
_LONGEST_CELL = MOST_TAGS_OF_A_ROW * (LONGEST_TAG + 4)
_DELIMITERS = (";", "|", ",")
_LINE_BREAKS = re.compile("[\r\n]+")
_SURROGATES = re.compile("[\ud800-\udfff]")  # a JSON list can contain half of a surrogate pair


def read_tags(*cells: str) -> tuple[str, ...] | InputRefusal:
    """Return the names of tags in the order of the cells, or a refusal.

    The names in several cells are joined. A cell can be a list in JSON, as listmonk and Homing
    write it, or a line of CSV, as Mailchimp writes it. In other cells, the names are separated by
    commas, semicolons, vertical bars or line breaks.
    """
    if sum(map(len, cells)) > _LONGEST_CELL:
        return refuse("tags_too_long", most=MOST_TAGS_OF_A_ROW, longest=LONGEST_TAG)
    found: dict[str, str] = {}
    for text in chain.from_iterable(_names_in(cell.strip()) for cell in cells):
        name = clean_name(text)
        if len(name) > LONGEST_TAG:
            return refuse("tag_too_long", length=len(name), longest=LONGEST_TAG)
        if CONTROL_CHARACTERS.search(name) or _SURROGATES.search(name):
            return refuse("tag_control_characters")
        if name:
            found.setdefault(name.lower(), name)
    if len(found) > MOST_TAGS_OF_A_ROW:
        return refuse("tags_too_long", most=MOST_TAGS_OF_A_ROW, longest=LONGEST_TAG)
    return tuple(found.values())


def _names_in(cell: str) -> list[str]:
    if cell.startswith("["):
        try:
            names = json.loads(cell)
        except (ValueError, RecursionError):
            names = None
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return names
    # In a cell with quotation marks, only commas separate names. In any other cell, the first of
    # these delimiters that occurs separates the names, which may thus contain commas.
    found = (one for one in _DELIMITERS if one in cell and '"' not in cell)
    delimiter = next(found, ",")
    rows = csv.reader(_LINE_BREAKS.split(cell), delimiter=delimiter, skipinitialspace=True)
    return [name for row in rows for name in row]
