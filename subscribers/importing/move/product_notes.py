"""Notes for authors about the export of each newsletter service.

The formats are described in docs/importing.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from subscribers.importing.file_format.status_columns import Status

REJECTED = "rejected"
FILE = "file"  # this word in place of a column's name: the file's name has the status
BECOMES: Mapping[str, Promise] = {
    Status.SUBSCRIBED: _("confirmed, if you state that they consented elsewhere"),
    Status.UNSTATED: _(
        "confirmed, if you state that the exported list had confirmed subscriptions only; "
        "otherwise pending"
    ),
    Status.UNCONFIRMED: _("pending; they get a confirmation email"),
    Status.UNSUBSCRIBED: _("unsubscribed; not mailed"),
    Status.BOUNCED: _("bounced; not mailed"),
    Status.COMPLAINED: _("marked as spam; not mailed"),
    Status.BLOCKED: _("suppressed; not mailed"),
    REJECTED: _("left out, and reported"),
}


@dataclass(frozen=True, slots=True)
class Product:
    """A newsletter service from which authors can move to Homing.

    `statuses` lists columns. For each value of a column, `statuses` has the status that Homing
    gives the reader.
    """

    code: str
    name: str
    export: Promise
    upload: Promise
    statuses: Sequence[tuple[str, str, str]]
    brings: Promise
    missing: Promise
    has_past_issues: bool = False


PRODUCTS: Sequence[Product] = (
    Product(
        "mailchimp",
        "Mailchimp",
        _("Open your audience, select all contacts and export them. Mailchimp makes a ZIP file."),
        _(
            "Upload the ZIP file as it is. It has one list for each status. If you unpack it, "
            "choose the lists together and keep their names, because only they show the status."
        ),
        (
            (FILE, "subscribed_…", Status.SUBSCRIBED),
            (FILE, "unsubscribed_…", Status.UNSUBSCRIBED),
            (FILE, "cleaned_…", Status.BOUNCED),
            (FILE, "nonsubscribed_…, sms_only_…", REJECTED),
        ),
        _(
            "Names, tags, the date of confirmation or sign-up, and other columns if you choose a "
            "field for them."
        ),
        _("Contacts who are not confirmed yet or were archived."),
    ),
    Product(
        "substack",
        "Substack",
        _("Open Settings, then Exports, and make a new export. Substack makes a ZIP file."),
        _("Upload the ZIP file as it is. Homing reads email_list… in it."),
        (
            ("email_disabled", "false", Status.SUBSCRIBED),
            ("email_disabled", "true", Status.UNSUBSCRIBED),
        ),
        _(
            "The date of sign-up, and who pays, as a tag if you choose so. The file has no names "
            "or tags."
        ),
        _("Most readers who unsubscribed."),
        has_past_issues=True,
    ),
    Product(
        "ghost",
        "Ghost",
        _("Open Members, then the menu at the top, and export all members."),
        _("Upload the file members….csv."),
        (
            ("subscribed_to_emails", "true", Status.SUBSCRIBED),
            ("subscribed_to_emails", "false", Status.UNSUBSCRIBED),
        ),
        _(
            "Names, labels as tags, the date of sign-up, and who pays or has a complimentary plan, "
            "as a tag if you choose so."
        ),
        _("Which members bounced or complained. Homing mails bounced addresses once more."),
        has_past_issues=True,
    ),
    Product(
        "buttondown",
        "Buttondown",
        _("Open Settings, then Exports, and export your subscribers."),
        _("Upload the CSV file or the ZIP file."),
        (
            (
                "subscriber_type",
                "regular, premium, gifted, trialed, churning, churned, past_due, paused, upcoming",
                Status.SUBSCRIBED,
            ),
            ("subscriber_type", "unactivated", Status.UNCONFIRMED),
            ("subscriber_type", "unsubscribed", Status.UNSUBSCRIBED),
            ("subscriber_type", "undeliverable", Status.BOUNCED),
            ("subscriber_type", "complained", Status.COMPLAINED),
            ("subscriber_type", "blocked, removed", Status.BLOCKED),
            ("subscriber_type", "unpaid", REJECTED),
        ),
        _("Tags and the date of sign-up."),
        _("Nobody, as far as we know."),
        has_past_issues=True,
    ),
    Product(
        "beehiiv",
        "Beehiiv",
        _("Open Settings, then Export data, and export your subscribers in full."),
        _(
            "Upload the file …-subscribers-….csv. A reader with a date in unsubscribed_at has "
            "unsubscribed, whatever the status says."
        ),
        (
            ("status", "active", Status.SUBSCRIBED),
            ("status", "pending, validating, needs approval, needs_attention", Status.UNCONFIRMED),
            ("status", "inactive", Status.UNSUBSCRIBED),
            ("status", "invalid", Status.BOUNCED),
        ),
        _("Names, tags, the date of sign-up, and your own columns if you choose a field for them."),
        _("Nobody, as far as we know."),
    ),
    Product(
        "kit",
        "Kit",
        _(
            "Open Subscribers, show all of them whatever their state, select all, and export them. "
            "Kit mails you a link to the file."
        ),
        _("Upload the CSV file. Kit used to be called ConvertKit."),
        (
            ("state", "active, cold", Status.SUBSCRIBED),
            ("state", "inactive", Status.UNCONFIRMED),
            ("state", "cancelled", Status.UNSUBSCRIBED),
            ("state", "bounced", Status.BOUNCED),
            ("state", "complained", Status.COMPLAINED),
        ),
        _(
            "First names, tags, the date of sign-up, and your own columns if you choose a field "
            "for them."
        ),
        _("Everyone in a state that you did not select. Without states, all readers are pending."),
    ),
    Product(
        "listmonk",
        "listmonk",
        _(
            "Open Lists, choose a list and its confirmed subscriptions, and export. For a list "
            "with single opt-in, add ?subscription_status=confirmed to the address of the page."
        ),
        _("Upload subscribers.csv. Export each list separately, and give its readers a tag here."),
        (
            ("status", "enabled", Status.UNSTATED),
            ("status", "disabled, blocklisted", Status.BLOCKED),
        ),
        _(
            "Names, the date of sign-up, and the attributes as one text in JSON, if you choose a "
            "field for them."
        ),
        _(
            "Who confirmed or unsubscribed from a list, and bounces. “enabled” is about the reader "
            "and not about the subscription. So state what you exported, or let Homing ask these "
            "readers to confirm."
        ),
    ),
    Product(
        "homing",
        "Homing",
        _("Open Settings, then Download everything, on the site that you leave."),
        _(
            "Upload the ZIP file as it is. For its issues, upload it again under “Move in past "
            "issues”."
        ),
        (
            ("state", "confirmed", Status.SUBSCRIBED),
            ("state", "pending", Status.UNCONFIRMED),
            ("state", "unsubscribed", Status.UNSUBSCRIBED),
            ("state", "bounced", Status.BOUNCED),
            ("state", "complained", Status.COMPLAINED),
        ),
        _("Names, fields, tags, topics, the date of confirmation, and suppressed addresses."),
        _("Nobody."),
        has_past_issues=True,
    ),
    Product(
        "list",
        "CSV",
        _("Save any list as a CSV file. In a spreadsheet, choose “CSV UTF-8”."),
        _("Upload the file. A row has one address; other columns can be names, tags or fields."),
        (
            ("status", "subscribed, active, confirmed", Status.SUBSCRIBED),
            ("status", "pending, unconfirmed", Status.UNCONFIRMED),
            ("status", "unsubscribed, opted out", Status.UNSUBSCRIBED),
            ("status", "bounced", Status.BOUNCED),
            ("status", "complained, spam", Status.COMPLAINED),
            ("status", "blocked, suppressed", Status.BLOCKED),
        ),
        _(
            "All columns that you choose. Homing recognises many names of columns, such as email, "
            "name, tags, status and date of sign-up."
        ),
        _("Readers who are not in your list. Without a status, one decision covers all rows."),
    ),
)
