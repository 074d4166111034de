"""The token scopes of the calls about issues."""

from django.utils.translation import gettext_lazy as _

from api.bearer import Scope
from publishing.desk_permissions import MAY_ACT, MAY_LOOK, TAKE_READERS_AWAY
from publishing.desk_permissions import PUBLISH as MAY_PUBLISH

PUBLISH = Scope("publish", _("Publishing and scheduling issues"), (MAY_PUBLISH,))
OPERATE = Scope("operate", _("Pausing, resuming and settling editions"), MAY_ACT)
STATUS = Scope("status", _("Reading the status and receipts of issues"), MAY_LOOK)
COPIES = Scope("copies", _("Reading the outcome of each reader’s copy"), TAKE_READERS_AWAY)
SCOPES = (PUBLISH, OPERATE, STATUS, COPIES)
