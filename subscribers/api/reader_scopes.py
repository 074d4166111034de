"""The scopes of tokens for calls about readers."""

from django.utils.translation import gettext_lazy as _

from api.bearer import Scope
from subscribers.reader_permissions import MANAGE

READERS = Scope(
    "readers",
    _("Seeing, adding, editing, unsubscribing and erasing readers, and changing fields and tags"),
    (MANAGE,),
)
IMPORTS = Scope("imports", _("Importing lists of readers"), (MANAGE,))
SCOPES = (READERS, IMPORTS)
