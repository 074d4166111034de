"""The token scopes of the calls about issues."""

from api.bearer import Scope
from publishing.permissions import MAY_ACT, MAY_LOOK, TAKE_READERS_AWAY
from publishing.permissions import PUBLISH as MAY_PUBLISH

PUBLISH = Scope("publish", "Publishing and scheduling issues", (MAY_PUBLISH,))
OPERATE = Scope("operate", "Pausing, resuming and settling editions", MAY_ACT)
STATUS = Scope("status", "Reading the status and receipts of issues", MAY_LOOK)
COPIES = Scope("copies", "Reading the outcome of each reader’s copy", TAKE_READERS_AWAY)
SCOPES = (PUBLISH, OPERATE, STATUS, COPIES)
