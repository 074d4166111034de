"""The scopes of tokens for calls about readers."""

from api.bearer import Scope
from subscribers.permissions import MANAGE

READERS = Scope("readers", "Seeing, adding, unsubscribing and erasing readers", (MANAGE,))
IMPORTS = Scope("imports", "Importing lists of readers", (MANAGE,))
SCOPES = (READERS, IMPORTS)
