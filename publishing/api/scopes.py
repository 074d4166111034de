"""What a token can be made for, of the calls about issues."""

from api.bearer import Scope
from publishing.permissions import MAY_ACT, MAY_LOOK, TAKE_READERS_AWAY
from publishing.permissions import PUBLISH as MAY_PUBLISH

PUBLISH = Scope("publish", "Publishing and scheduling issues", (MAY_PUBLISH,))
OPERATE = Scope("operate", "Pausing, resuming and settling what goes out", MAY_ACT)
STATUS = Scope("status", "Seeing how issues stand, and their receipts", MAY_LOOK)
COPIES = Scope("copies", "Seeing what became of each reader’s copy", TAKE_READERS_AWAY)
SCOPES = (PUBLISH, OPERATE, STATUS, COPIES)
