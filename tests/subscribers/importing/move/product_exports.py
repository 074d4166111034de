"""Lists of 200 fictional readers, as eight products export them."""

import csv
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from itertools import cycle, islice
from typing import NamedTuple

ROWS = 200
TAGS = ("VIP", "Gärten", "New York")
EVERY = timedelta(days=3, hours=7, minutes=11, seconds=13)
ISO, PLAIN = "%Y-%m-%dT%H:%M:%S.713Z", "%Y-%m-%d %H:%M:%S"
HASH = "1a2b3c4d5e"  # in the names of Mailchimp's files
GONE = ("unsubscribed", "bounced", "complained", "blocked")


class Case(NamedTuple):
    """The result of a row, and the cells with its status."""

    result: str
    cells: Mapping[str, str]
    domain: str = "orchard.example.org"


class Reader(NamedTuple):
    """A row of an export. Its address begins with the expected result."""

    number: int
    case: Case

    @property
    def email(self) -> str:
        return f"{self.case.result}.{self.number}@{self.case.domain}"

    @property
    def name(self) -> str:
        return f"Zoë Reed {self.number}"

    @property
    def tags(self) -> list[str]:
        return [tag for bit, tag in enumerate(TAGS) if self.number >> bit & 1]

    @property
    def since(self) -> datetime:
        return datetime(2019, 1, 1, tzinfo=UTC) + self.number * EVERY

    def at(self, form: str) -> str:
        return self.since.strftime(form)


Cells = Callable[[Reader], dict[str, str]]


class File(NamedTuple):
    """A CSV file of a product."""

    name: str
    header: str
    cells: Cells
    cases: tuple[Case, ...]
    delimiter: str = ","
    line_end: str = "\n"
    encoding: str = "utf-8"

    def content(self, readers: list[Reader]) -> bytes:
        text = io.StringIO(newline="")
        writer = csv.DictWriter(
            text, self.header.split(","), delimiter=self.delimiter, lineterminator=self.line_end
        )
        writer.writeheader()
        writer.writerows([{**self.cells(one), **one.case.cells} for one in readers])
        return text.getvalue().encode(self.encoding)


class Export(NamedTuple):
    """The readers of a product, in the files that it exports."""

    readers: list[Reader]
    files: dict[str, bytes]
    others: Mapping[str, str]  # in the ZIP, beside the files; empty if there is no ZIP

    @property
    def upload(self) -> tuple[str, bytes]:
        """The name and content of the file that the product gives."""
        if not self.others:
            return next(iter(self.files.items()))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, content in (*self.files.items(), *self.others.items()):
                archive.writestr(f"export/{path}", content)
        return "export.zip", packed.getvalue()


def each(result: str, column: str, values: str) -> tuple[Case, ...]:
    return tuple(Case(result, {column: value}) for value in values.split(","))


def mailchimp(one: Reader) -> dict[str, str]:
    earlier = (one.since - EVERY).strftime(PLAIN)
    dates = [
        {"CONFIRM_TIME": one.at(PLAIN)},
        {"OPTIN_TIME": earlier, "CONFIRM_TIME": one.at(PLAIN)},
        {"OPTIN_TIME": one.at(PLAIN), "OPTIN_IP": "192.0.2.7"},
    ]
    return {
        "Email Address": one.email,
        "First Name": " Zoë ",
        "Last Name": one.name.removeprefix("Zoë "),
        "MEMBER_RATING": "3",
        "LAST_CHANGED": one.at(PLAIN),
        "UNSUB_TIME": "2025-02-03 04:05:06",
        "CLEAN_TIME": "2025-02-03 04:05:06",
        "TAGS": ",".join(f'"{tag}"' for tag in one.tags),
        **dates[one.number % 3],
    }


def mailchimp_file(kind: str, part: str, *cases: Case) -> File:
    header = (
        "Email Address,First Name,Last Name,Town,MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,"
        f"CONFIRM_IP,LATITUDE,LONGITUDE,GMTOFF,DSTOFF,TIMEZONE,CC,REGION,{part},LEID,EUID,NOTES,TAGS"
    ).split(",")

    def cells(one: Reader) -> dict[str, str]:
        return {column: text for column, text in mailchimp(one).items() if column in header}

    name = f"{kind}_email_audience_export_{HASH}.csv".replace("sms_only_email", "sms_only")
    return File(name, ",".join(header), cells, cases)


def substack(one: Reader) -> dict[str, str]:
    return {
        "email": one.email,
        "active_subscription": "true" if one.number % 5 == 0 else "false",
        "plan": "yearly" if one.number % 5 == 0 else "other",
        "created_at": one.at(ISO),
    }


def ghost(one: Reader) -> dict[str, str]:
    return {
        "id": f"{one.number:024x}",
        "email": one.email,
        "name": one.name,
        "note": "Met at the fair,\nlikes swifts",
        "complimentary_plan": "true" if one.number % 5 == 0 else "",
        "created_at": one.at(ISO),
        "labels": ",".join(one.tags),
        "tiers": "Gold" if one.number % 5 == 0 else "",
    }


def buttondown(one: Reader) -> dict[str, str]:
    created = one.since - EVERY
    # A reader who returned keeps the date of leaving.
    return {
        "id": f"sub_{one.number}",
        "email": one.email,
        "creation_date": created.strftime(f"{PLAIN}+00:00"),
        "subscription_date": one.at(f"{PLAIN}.183465+00:00"),
        "unsubscription_date": created.strftime(f"{PLAIN}+00:00") if one.number % 4 else "",
        "tags": ";".join(one.tags),
        "metadata": "{'staff': 'true'}",
    }


def beehiiv(one: Reader) -> dict[str, str]:
    return {
        "subscriber_id": f"s{one.number}",
        "api_subscription_id": f"sub_{one.number}",
        "email": one.email,
        "tags": json.dumps(one.tags),
        "created_at": one.at(f"{PLAIN} UTC"),
        "updated_at": "2026-01-02 03:04:05 UTC",
        "Free Tier": "Yes",
        "Name": one.name,
    }


def kit(one: Reader) -> dict[str, str]:
    return {
        "first_name": one.name,
        "email_address": one.email,
        "created_at": one.at("%Y-%m-%dT%H:%M:%SZ"),
        "tags": ", ".join(one.tags),
    }


def listmonk(one: Reader) -> dict[str, str]:
    zone = timezone(timedelta(hours=5, minutes=30))
    dates = [
        one.at(f"{PLAIN}.1234 +0000 UTC"),
        one.since.astimezone(zone).strftime(f"{PLAIN} %z IST"),
        one.since.astimezone(zone).strftime(f"{PLAIN}.123456789 %z %z"),
    ]
    return {
        "uuid": f"00000000-0000-4000-8000-{one.number:012}",
        "email": one.email,
        "name": one.name,
        "attributes": '{"city": "Wick"}',
        "created_at": dates[one.number % 3],
        "updated_at": "0001-01-01 00:00:00 +0000 UTC",
    }


def spreadsheet(one: Reader) -> dict[str, str]:
    tags = "; ".join(one.tags)
    return {
        "E-Mail": one.email,
        "Name": one.name,
        "Tags": tags,
        "Joined": one.at("%d.%m.%Y %H:%M:%S"),
    }


LEFT = {"unsubscribed_at": "2025-03-24 10:23:10 UTC"}
PRODUCTS: dict[str, tuple[File, ...]] = {
    "mailchimp": (
        mailchimp_file("subscribed", "LAST_CHANGED", Case("confirmed", {})),
        mailchimp_file(
            "unsubscribed",
            "UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_CAMPAIGN_ID,UNSUB_REASON,UNSUB_REASON_OTHER",
            Case("unsubscribed", {"UNSUB_REASON": "NORMAL"}),
            Case("complained", {"UNSUB_REASON": "SPAM"}),
        ),
        mailchimp_file(
            "cleaned", "CLEAN_TIME,CLEAN_CAMPAIGN_TITLE,CLEAN_CAMPAIGN_ID", Case("bounced", {})
        ),
        mailchimp_file("nonsubscribed", "LAST_CHANGED", Case("rejected", {})),
        mailchimp_file("sms_only", "LAST_CHANGED", Case("rejected", {})),
    ),
    "substack": (
        File(
            "email_list.field-notes.csv",
            "email,active_subscription,expiry,plan,email_disabled,created_at,first_payment_at",
            substack,
            (
                *each("confirmed", "email_disabled", "false"),
                *each("unsubscribed", "email_disabled", "true"),
                Case("rejected", {"email_disabled": "false"}, "deletion-request.substack.com"),
            ),
        ),
    ),
    "ghost": (
        File(
            "members.2026-10-01.csv",
            "id,email,name,note,subscribed_to_emails,complimentary_plan,stripe_customer_id,"
            "created_at,deleted_at,labels,tiers,gift_id",
            ghost,
            (
                *each("confirmed", "subscribed_to_emails", "true"),
                *each("unsubscribed", "subscribed_to_emails", "false"),
            ),
            line_end="\r\n",
        ),
    ),
    "buttondown": (
        File(
            "subscribers.csv",
            "id,secondary_id,email,notes,subscriber_type,referrer_url,utm_source,utm_medium,"
            "utm_campaign,creation_date,ip_address,subscription_date,unsubscription_date,tags,"
            "metadata",
            buttondown,
            (
                *each(
                    "confirmed",
                    "subscriber_type",
                    "regular,premium,gifted,trialed,churning,churned,past_due,paused,upcoming",
                ),
                *each("pending", "subscriber_type", "unactivated"),
                *each("rejected", "subscriber_type", "unpaid"),
                *each("unsubscribed", "subscriber_type", "unsubscribed"),
                *each("bounced", "subscriber_type", "undeliverable"),
                *each("complained", "subscriber_type", "complained"),
                *each("blocked", "subscriber_type", "blocked,removed"),
            ),
        ),
    ),
    "beehiiv": (
        File(
            "field-notes-subscribers-2026-10-01.csv",
            "subscriber_id,api_subscription_id,email,tags,status,created_at,updated_at,"
            "unsubscribed_at,stripe_customer_id,referred_by,campaign,channel,acquisition_source,"
            "referring_url,acquisition_term,acquisition_content,device_type,total_revenue_cents,"
            "referral_count,total_sent,total_delivered,total_unique_opened,total_clicked,"
            "total_unique_clicked,open_rate,click_rate,last_opened_at,last_clicked_at,Free Tier,"
            "Name",
            beehiiv,
            (
                *each("confirmed", "status", "active"),
                *each("unsubscribed", "status", "inactive"),
                Case("unsubscribed", {"status": "active", **LEFT}),
                *each("pending", "status", "pending,validating,needs approval,needs_attention"),
                *each("bounced", "status", "invalid"),
            ),
        ),
    ),
    "kit": (
        File(
            "subscribers.csv",
            "first_name,email_address,state,created_at,tags",
            kit,
            (
                *each("confirmed", "state", "active,Confirmed,Cold"),
                *each("pending", "state", "inactive,Unconfirmed"),
                *each("unsubscribed", "state", "cancelled"),
                *each("bounced", "state", "bounced"),
                *each("complained", "state", "complained"),
            ),
        ),
    ),
    "listmonk": (
        File(
            "subscribers.csv",
            "uuid,email,name,attributes,status,created_at,updated_at",
            listmonk,
            (
                *each("pending", "status", "enabled"),
                *each("blocked", "status", "disabled,blocklisted"),
            ),
        ),
    ),
    "spreadsheet": (
        File(
            "readers.csv",
            "E-Mail,Name,Tags,Joined",
            spreadsheet,
            (Case("confirmed", {}),),
            delimiter=";",
            line_end="\r\n",
            encoding="utf-8-sig",
        ),
    ),
}
BESIDE: dict[str, Mapping[str, str]] = {
    "mailchimp": {f"__MACOSX/._subscribed_email_audience_export_{HASH}.csv": ""},
    "substack": {
        "posts.csv": "post_id,post_date,is_published,title\n101.swifts,,true,Swifts\n",
        "posts/101.swifts.html": "<p>The swifts left.</p>",
        "posts/101.delivers.csv": "email,timestamp\nnobody@orchard.example.org,\n",
        "posts/101.opens.csv": "email,timestamp\nnobody@orchard.example.org,\n",
    },
}


def export_of(product: str) -> Export:
    """Return the readers of a product, shared out evenly among its files and statuses."""
    files = PRODUCTS[product]
    places = cycle([(file, case) for file in files for case in file.cases])
    rows = [
        (file, Reader(number, case)) for number, (file, case) in enumerate(islice(places, ROWS))
    ]
    contents = {
        file.name: file.content([reader for at, reader in rows if at is file]) for file in files
    }
    return Export([reader for _, reader in rows], contents, BESIDE.get(product, {}))
