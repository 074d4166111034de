"""
Searches for part of an address, in either spelling of an international domain.

Addresses are stored with domains in ASCII. The database decodes those that a search may mean.
"""

import unicodedata
from itertools import takewhile

from django.db.models import F, Func, QuerySet, TextField

from subscribers.models import Subscriber

ENCODED = "xn--"  # the start of a label of an international domain
UNICODE_ADDRESS = Func(F("email_key"), function="unicode_address", output_field=TextField())


def as_domain(text: str) -> str:
    """Write letters as in a domain (IDNA 2008): composed and in lower case."""
    return unicodedata.normalize("NFKC", text).lower()


def starting_with(readers: QuerySet[Subscriber], text: str) -> QuerySet[Subscriber]:
    """Select the readers whose address starts with `text`, with its index."""
    if text.isascii():
        return readers.filter(email_key__startswith=text.lower())
    wanted = as_domain(text)
    local_part, _, domain = wanted.partition("@")
    plain = [f"{label}." for label in takewhile(str.isascii, domain.split("."))]
    indexed = f"{local_part}@{''.join(plain)}{ENCODED}"
    found = readers.filter(email_key__startswith=indexed).alias(unicode=UNICODE_ADDRESS)
    return found.filter(unicode__startswith=wanted)
