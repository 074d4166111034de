"""Sentences that say what to do in Postmark, or in the settings for Postmark."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from delivery.rules.reason import Remedy

REMEDIES: Mapping[str, Promise] = {
    Remedy.TOKEN: _("Check POSTMARK_SERVER_TOKEN: it must be the token of a Postmark server."),
    Remedy.ENABLE_API: _("Ask Postmark's support to enable this API for the account."),
    Remedy.CONFIRM_SIGNATURE: _(
        "Confirm the sender’s signature in Postmark, or choose another sender under Settings. Then "
        "resume."
    ),
    Remedy.PLAN_AND_CREDITS: _("Check the plan and credits of the Postmark account, then resume."),
    Remedy.TOKEN_AND_SERVER: _(
        "Check POSTMARK_SERVER_TOKEN and the Postmark server it belongs to, then resume."
    ),
    Remedy.STREAM_NAMES: _(
        "Check POSTMARK_BROADCAST_STREAM and POSTMARK_TRANSACTIONAL_STREAM, then resume."
    ),
    Remedy.STREAM_THAT_SENDS: _(
        "Set POSTMARK_BROADCAST_STREAM to a stream that can send, then resume."
    ),
    Remedy.ALLOWED_IPS: _(
        "Add this machine's address to the Postmark server's list of allowed IPs, then resume."
    ),
    Remedy.SIGNATURES_AND_DOMAINS: _(
        "Check the sender signatures and domains in Postmark, then resume."
    ),
    Remedy.SERVER_SETTINGS: _("Check the settings of the Postmark server, then resume."),
    Remedy.STREAM_SETTINGS: _("Check the message streams of the Postmark server, then resume."),
    Remedy.NETWORK: _("Check POSTMARK_BASE_URL and the network between this machine and Postmark."),
    Remedy.BASE_URL: _("Check POSTMARK_BASE_URL, then resume."),
}
