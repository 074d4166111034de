"""The names of the newsletter's settings, for their forms and the activity log."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

LABELS: Mapping[str, Promise] = {
    "name": gettext_lazy("Name"),
    "tagline": gettext_lazy("Tagline"),
    "postal_address": gettext_lazy("Postal address"),
    "reply_to": gettext_lazy("Reply-to address"),
    "time_zone": gettext_lazy("Time zone"),
    "language": gettext_lazy("Language"),
    "footer": gettext_lazy("Footer"),
    "sign_up_text": gettext_lazy("Text above the sign-up form"),
    "own_links": gettext_lazy("Your links"),
    "about": gettext_lazy("About page"),
    "imprint": gettext_lazy("Imprint"),
    "own_sites": gettext_lazy("Your own sites"),
    "feed_has_full_text": gettext_lazy("Full text in the feed"),
    "second_person": gettext_lazy("Require a second person’s approval"),
    "approver_may_publish": gettext_lazy("The person who approves may also publish"),
    "sender_name": gettext_lazy("Sender’s name"),
    "sender_address": gettext_lazy("Sender’s address"),
    "accent": gettext_lazy("Accent colour"),
    "typeface": gettext_lazy("Typeface"),
    "layout": gettext_lazy("Layout"),
    "header": gettext_lazy("Header"),
    "logo": gettext_lazy("Logo"),
    "dark_logo": gettext_lazy("Logo for dark backgrounds"),
}
