"""The newsletter: the one row with the sender's name and settings."""

from __future__ import annotations

import re
from email.utils import quote
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.control_characters import CONTROL_CHARACTERS
from delivery.models.shared_columns import ChoiceField

# The placeholder name that the migration gives the newsletter.
NOT_NAMED_YET = "The Homing Letter"
# A name with one of these characters must be in quotes (RFC 5322, 3.2.3, “specials”).
_NEEDS_QUOTES = re.compile(r'[][\\()<>@,:;".]')
PIGEON_BLUE = "#0f5a6e"


def named_zone(value: str) -> None:
    """Refuse a name that the tz database does not have."""
    if value not in available_timezones():
        raise ValidationError(
            _("“{value}” is not a time zone. Enter a name such as Europe/Lisbon.").format(
                value=value
            )
        )


def one_line(value: str) -> None:
    """Refuse control characters, because the value is written to mail headers."""
    if CONTROL_CHARACTERS.search(value):
        raise ValidationError(_("Enter one line without control characters."))


class Typeface(models.TextChoices):
    """A pairing of typefaces for headings and text."""

    BOOK = "book", gettext_lazy("Book: an old-style serif throughout")
    MODERN = "modern", gettext_lazy("Modern: sans serif throughout")
    MAGAZINE = "magazine", gettext_lazy("Magazine: sans serif headings, serif text")
    JOURNAL = "journal", gettext_lazy("Journal: serif headings, sans serif text")


class Layout(models.TextChoices):
    """The layout of letters: a folder of templates in `templates/mail/layouts/`."""

    PLAIN = "plain", gettext_lazy("Plain: like a personal email")
    CLASSIC = "classic", gettext_lazy("Classic: the name above the letter")
    PICTURE = "picture", gettext_lazy("Picture first: the first picture above the title")


class Header(models.TextChoices):
    """The name, the logo or both at the top of letters and pages."""

    NAME = "name", gettext_lazy("The name")
    LOGO = "logo", gettext_lazy("The logo")
    BOTH = "both", gettext_lazy("The logo and the name")


class NewsletterManager(models.Manager["Newsletter"]):
    """Manager of the one row."""

    def get_current(self) -> Newsletter:
        """Return the newsletter, with the defaults if its row was deleted."""
        return self.get_or_create(pk=1)[0]


class Newsletter(models.Model):
    """The name, the sender, the look, the language and the other settings, in one row."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    name = models.CharField(
        max_length=100,
        default=NOT_NAMED_YET,
        validators=[one_line],
        help_text=gettext_lazy("Shown at the top of every mail and page."),
    )
    tagline = models.CharField(
        max_length=200,
        blank=True,
        default="",
        validators=[one_line],
        help_text=gettext_lazy("One line under the name in mails and on public pages."),
    )
    postal_address = models.CharField(
        max_length=300,
        blank=True,
        default="",
        help_text=gettext_lazy(
            "Shown in the footer of every mail. Many countries require it by law."
        ),
    )
    time_zone = models.CharField(
        max_length=64,
        default="UTC",
        validators=[named_zone],
        help_text=gettext_lazy("The time zone of the author pages, such as Europe/Lisbon."),
    )
    language = models.CharField(
        max_length=20,
        default="en",
        validators=[one_line],
        help_text=gettext_lazy(
            "The language of the letters, such as en or pt-PT. Screen readers use it."
        ),
    )
    reply_to = models.EmailField(
        blank=True,
        default="",
        help_text=gettext_lazy("The address for replies. If empty, replies go to the sender."),
    )

    second_person = models.BooleanField(
        gettext_lazy("require a second person's approval"),
        default=False,
        db_default=False,
        help_text=gettext_lazy(
            "Another author who may publish must approve the exact text before it is published."
        ),
    )

    approver_may_publish = models.BooleanField(default=False, db_default=False)

    # If this is empty, `FROM_EMAIL` is the sender.
    sender_name = models.CharField(
        max_length=100, blank=True, default="", db_default="", validators=[one_line]
    )
    sender_address = models.EmailField(blank=True, default="", db_default="")
    # The author's own texts at the end of every mail, in a little Markdown, and above the sign-up
    # form.
    footer = models.CharField(max_length=500, blank=True, default="", db_default="")
    sign_up_text = models.CharField(max_length=500, blank=True, default="", db_default="")
    # The web origins whose sign-up forms need no second press of a button. Each line has one
    # origin, as browsers send it.
    own_sites = models.CharField(max_length=2000, blank=True, default="", db_default="")
    # Links for the footer of public pages. Each line has a title, a blank and an https address.
    own_links = models.CharField(max_length=3000, blank=True, default="", db_default="")
    # The public pages about the newsletter, in Markdown. There is no page without a text. If the
    # imprint is one https address, it is a link to a page elsewhere.
    about = models.CharField(max_length=10_000, blank=True, default="", db_default="")
    imprint = models.CharField(max_length=5000, blank=True, default="", db_default="")

    feed_has_full_text = models.BooleanField(default=True, db_default=True)

    accent = models.CharField(max_length=7, default=PIGEON_BLUE, db_default=PIGEON_BLUE)
    typeface = ChoiceField(
        max_length=10, choices=Typeface, default=Typeface.BOOK, db_default=Typeface.BOOK
    )
    layout = ChoiceField(
        max_length=10, choices=Layout, default=Layout.CLASSIC, db_default=Layout.CLASSIC
    )
    header = ChoiceField(max_length=10, choices=Header, default=Header.NAME, db_default=Header.NAME)
    # The path of the logo's image on this site; empty without a logo. The width and the height are
    # the size of the stored image, in pixels.
    logo = models.CharField(max_length=200, blank=True, default="", db_default="")
    logo_width = models.PositiveSmallIntegerField(default=0, db_default=0)
    logo_height = models.PositiveSmallIntegerField(default=0, db_default=0)
    # The logo for dark backgrounds, also empty if there is only one logo.
    dark_logo = models.CharField(max_length=200, blank=True, default="", db_default="")
    dark_logo_width = models.PositiveSmallIntegerField(default=0, db_default=0)
    dark_logo_height = models.PositiveSmallIntegerField(default=0, db_default=0)

    # The issue of the welcome letter; null if no new reader gets one.
    welcome_issue = models.UUIDField(null=True, editable=False)

    objects = NewsletterManager()

    class Meta:
        db_table = "newsletter"
        verbose_name = gettext_lazy("newsletter")
        constraints = [
            models.CheckConstraint(name="there_is_one_newsletter", condition=Q(id=1)),
            models.CheckConstraint(
                name="accent_is_a_colour", condition=Q(accent__regex="^#[0-9a-f]{6}$")
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_named(self) -> bool:
        """Whether the newsletter has another name than the placeholder."""
        return self.name != NOT_NAMED_YET

    @property
    def sender(self) -> str:
        """The sender as a mailbox, such as `Ada <ada@example.org>`."""
        if not self.sender_address:
            return str(settings.FROM_EMAIL)
        if not self.sender_name:
            return self.sender_address
        name = self.sender_name
        if _NEEDS_QUOTES.search(name):
            name = f'"{quote(name)}"'
        return f"{name} <{self.sender_address}>"

    @property
    def zone(self) -> ZoneInfo:
        """The newsletter's time zone."""
        return ZoneInfo(self.time_zone)
