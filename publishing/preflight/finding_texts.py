"""The texts of each finding, by its code: a sentence and a detail. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from publishing.preflight.parse_letter import TextLocation

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


class FindingText(NamedTuple):
    """The finding, and its reason or the next step. Both have named parameters."""

    sentence: str | _StrPromise
    detail: str | _StrPromise = ""


_NO_WORKER = _("No worker is running")
_BROKEN_LINK = ngettext_lazy(
    "{readers} reader gets a broken link because of {field}",
    "{readers} readers get a broken link because of {field}",
    "readers",
)
_RETURN_PATH = _(
    "SPF then passes only for Postmark's domain, not for yours. Set a return path "
    "at Postmark, usually pm-bounces. Ignore this if your return path has another name. "
    "Checked: {at}."
)

TEXTS = {
    # The author's text.
    "content_problem": FindingText("{sentence}"),
    "is_welcome_letter": FindingText(
        _("This draft has the title of your welcome letter"),
        _("New readers get that letter already. Publishing sends the draft to all readers too."),
    ),
    "unmatched_braces": FindingText(
        _("“{found}” has no matching “{missing}” ({location})"),
        _("Readers see it as it is written. A merge field needs both."),
    ),
    "forgotten_note": FindingText(
        _("“{note}” looks like a forgotten note ({location})"),
        _("Readers see it as it is written."),
    ),
    "foreign_merge_field": FindingText(
        _("“{note}” looks like a merge field of another program ({location})"),
        _("Readers see it as it is written. In Homing, write {{{{ name|reader }}}}."),
    ),
    "long_subject": FindingText(
        _("The subject has {length} characters; phones show about {shown}"),
        _("The rest is cut off. Put the important part first."),
    ),
    "script": FindingText(
        _("The letter contains a script"),
        _("Mail programs remove scripts, and spam filters may reject the letter."),
    ),
    "fields_have_values": FindingText(_("Every merge field has a value for every reader.")),
    "field_has_values": FindingText(_("Every reader has a value for “{label}”.")),
    "field_has_fallback": FindingText(
        ngettext_lazy(
            "{readers} of {total} readers has no {label} and sees “{fallback}”.",
            "{readers} of {total} readers have no {label} and see “{fallback}”.",
            "readers",
        )
    ),
    "field_without_value": FindingText(
        ngettext_lazy(
            "{readers} reader has no value and no fallback for {field}",
            "{readers} readers have no value and no fallback for {field}",
            "readers",
        ),
        _("They see nothing in its place. {{{{ {with_fallback} }}}} shows them “{fallback}”."),
    ),
    # Readers, tests, workers and other editions.
    "archive_only": FindingText(_("Not mailed: archive only. {archive_note}")),
    "no_readers": FindingText(
        _("This issue would go to nobody"),
        _("None of the chosen readers is confirmed. {archive_note}"),
    ),
    "version_overlap": FindingText("{sentence}"),
    "test_sent": FindingText(_("A test was sent to {address} ({at}).")),
    "no_test": FindingText(
        _("You haven't sent a test of this version"),
        _("A test shows you the letter in a real mailbox."),
    ),
    "no_duplicate": FindingText(
        _("No other issue had this content or title in the last 7 days."),
    ),
    "other_issue_sending": FindingText(
        _("“{title}” is still being sent"),
        ngettext_lazy(
            "{waiting} copy is queued. Homing alternates between the two issues.",
            "{waiting} copies are queued. Homing alternates between the two issues.",
            "waiting",
        ),
    ),
    "worker_running": FindingText(_("A worker is running.")),
    "no_worker": FindingText(
        _NO_WORKER,
        _("The issue is sent only when a worker runs. Start one with ./homing deliver."),
    ),
    "worker_stopped": FindingText(
        _NO_WORKER,
        _(
            "Last heartbeat: {at}. The issue is sent only when a worker runs. Start one with "
            "./homing deliver."
        ),
    ),
    # Images.
    "images_without_alt": FindingText(
        ngettext_lazy(
            "{images} image has no alt text", "{images} images have no alt text", "images"
        ),
        _("Readers with a screen reader or without images get nothing in its place."),
    ),
    "images_have_alt": FindingText(
        ngettext_lazy("{images} image has alt text.", "{images} images have alt text.", "images")
    ),
    "images_unreachable": FindingText(
        ngettext_lazy(
            "Readers cannot load {images} image", "Readers cannot load {images} images", "images"
        ),
        _("An image in a mail needs a complete public address with https://."),
    ),
    "images_over_http": FindingText(
        ngettext_lazy("{images} image uses http", "{images} images use http", "images"),
        _("Some mail programs show only images that use https."),
    ),
    # Links.
    "links_empty": FindingText(
        ngettext_lazy("{links} link has no address", "{links} links have no address", "links"),
        _("Nothing happens when a reader presses such a link."),
    ),
    "links_relative": FindingText(
        ngettext_lazy("{links} link is relative", "{links} links are relative", "links"),
        _("A link in a mail needs a complete address with https://."),
    ),
    "links_unsupported": FindingText(
        ngettext_lazy(
            "{links} link cannot be opened from a mail",
            "{links} links cannot be opened from a mail",
            "links",
        ),
        _("Mail programs open https, mailto and tel links."),
    ),
    "links_private": FindingText(
        ngettext_lazy(
            "{links} link leads to a private address",
            "{links} links lead to private addresses",
            "links",
        ),
        _("Readers cannot reach addresses of this machine or of a private network."),
    ),
    "links_over_http": FindingText(
        ngettext_lazy("{links} link uses http", "{links} links use http", "links"),
        _("Browsers warn before such pages. Most sites also answer under https."),
    ),
    "field_begins_address": FindingText(
        _BROKEN_LINK,
        _("The link begins with it, so its value or fallback must be a complete https:// address."),
    ),
    "field_in_host": FindingText(
        _BROKEN_LINK,
        _(
            "It is in the name of a site, which can only have letters from a to z, digits, hyphens "
            "and dots."
        ),
    ),
    "field_is_recipient": FindingText(
        _BROKEN_LINK,
        _("It follows mailto:, so its value or fallback must be an email address."),
    ),
    "no_relative_links": FindingText(_("No relative links.")),
    "links_failed": FindingText(
        ngettext_lazy("{links} link answers {status}", "{links} links answer {status}", "links")
    ),
    "links_dead": FindingText(
        ngettext_lazy("{links} link is dead", "{links} links are dead", "links"),
        _("Result: {error}."),
    ),
    "links_unclear": FindingText(
        ngettext_lazy(
            "{links} link gave no clear result", "{links} links gave no clear result", "links"
        ),
        _("Result: {results}. Readers may still see the page. Open it once yourself."),
    ),
    "links_unopened": FindingText(_("The links have not been opened yet")),
    "links_timed_out": FindingText(
        ngettext_lazy(
            "{links} link could not be opened in time",
            "{links} links could not be opened in time",
            "links",
        )
    ),
    "links_beyond_limit": FindingText(
        ngettext_lazy("{links} link was not opened", "{links} links were not opened", "links"),
        _("Homing opens only the first {limit} links. Open the others yourself."),
    ),
    "links_ok": FindingText(
        ngettext_lazy("{links} link answers.", "{links} links answer.", "links")
    ),
    "first_links_ok": FindingText(
        ngettext_lazy("The first {links} link answers.", "The first {links} links answer.", "links")
    ),
    # The mail.
    "site_unreachable": FindingText(
        _("Readers cannot reach this site"),
        _(
            "Unsubscribe links, archive pages and your images use {site_url}. An operator must "
            "set SITE_URL to the public address."
        ),
    ),
    "clipped": FindingText(
        _("Gmail will cut off this letter: it has {size} kB"),
        _(
            "Gmail hides everything after 102 kB, including the unsubscribe link. Shorten the "
            "letter. Images do not count."
        ),
    ),
    "nearly_clipped": FindingText(
        _("The letter has {size} kB, and Gmail cuts at 102 kB"),
        _("The values of merge fields add to this size."),
    ),
    "size_ok": FindingText(_("The size is well below the limit.")),
    "no_text_part": FindingText(
        _("There is no plain text"),
        _("Mail programs without HTML show an empty letter, and spam filters may reject it."),
    ),
    "short_text_part": FindingText(
        _("The plain text is much shorter than the letter: {words} of {letter_words} words"),
        _("Did you forget to update it? If you empty it, Homing makes it from the letter."),
    ),
    "text_part": FindingText(
        ngettext_lazy(
            "The plain text has {words} word.", "The plain text has {words} words.", "words"
        )
    ),
    "plain_text_only": FindingText(_("It is sent as plain text.")),
    "preheader_set": FindingText(_("The preview text is set.")),
    "no_preheader": FindingText(
        _("There is no preview text"),
        _("Inboxes show the first words of the letter beside the subject instead."),
    ),
    "own_unsubscribe_link": FindingText(
        _("The letter has the unsubscribe link. One-click unsubscribe is included.")
    ),
    "unsubscribe_link": FindingText(
        _("The footer has the unsubscribe link. One-click unsubscribe is included.")
    ),
    "own_link_postmark": FindingText(
        _("The letter has the unsubscribe link. Postmark adds one-click unsubscribe.")
    ),
    "link_postmark": FindingText(
        _("The footer has the unsubscribe link. Postmark adds one-click unsubscribe.")
    ),
    "unnamed_newsletter": FindingText(
        _("The newsletter is still called “{name}”"),
        _("This default name is in every mail and on every page. Choose your own."),
    ),
    "no_postal_address": FindingText(
        _("There is no postal address"),
        _("Many countries require one in every newsletter. The footer shows it."),
    ),
    "no_language": FindingText(
        _("No language is set"),
        _("Screen readers and mail programs that translate use it."),
    ),
    "language_set": FindingText(_("The language is set to {language}.")),
    # The sender's domain.
    "placeholder_domain": FindingText(
        _("{domain} is a placeholder. Set your own sender"),
        _("No provider sends from this domain. Your sender needs an address of your own domain."),
    ),
    "domain_unchecked": FindingText(_("The records of {domain} have not been looked up yet")),
    "no_such_domain": FindingText(
        _("The domain {domain} does not exist"),
        _("Receivers refuse mail from it. Checked: {at}."),
    ),
    "dns_failed": FindingText(
        _("{records} of {domain} could not be looked up"),
        _("No name server answered. Checked: {at}."),
    ),
    "several_spf": FindingText(
        ngettext_lazy(
            "{domain} has {count} SPF record", "{domain} has {count} SPF records", "count"
        ),
        _("Only one is allowed. With more, SPF fails. Checked: {at}."),
    ),
    "spf_allows_all": FindingText(
        _("SPF of {domain} lets everybody send in its name"),
        _("It ends in “all”. Use “~all” or “-all” to exclude other senders. Checked: {at}."),
    ),
    "spf_return_path": FindingText(_("SPF passes: the return path of {domain} leads to Postmark.")),
    "spf_postmark": FindingText(_("SPF of {domain} names Postmark.")),
    "spf_without_postmark": FindingText(_("SPF of {domain} does not name Postmark"), _RETURN_PATH),
    "no_spf": FindingText(
        _("{domain} has no SPF record and no return path at pm-bounces"), _RETURN_PATH
    ),
    "dkim_key": FindingText(_("DKIM has a key at pm._domainkey.{domain}.")),
    "dkim_unclear": FindingText(
        _("Homing cannot see whether mail from {domain} is signed (DKIM)"),
        _(
            "The name of Postmark's key usually contains a date, so Homing cannot find it. There "
            "is none at pm._domainkey. Look in Postmark under Sender Signatures. Checked: {at}."
        ),
    ),
    "no_dmarc": FindingText(
        _("{domain} has no DMARC record"),
        _(
            "Large mail providers require one from newsletters and may treat mail without it as "
            "spam. Start with the text “v=DMARC1; p=none” at _dmarc.{domain}. Checked: {at}."
        ),
    ),
    "several_dmarc": FindingText(
        ngettext_lazy(
            "{name} has {count} DMARC record", "{name} has {count} DMARC records", "count"
        ),
        _("Only one is allowed. With more, receivers ignore all. Checked: {at}."),
    ),
    "dmarc_quarantine": FindingText(
        _("DMARC of {name} asks receivers to put forgeries in spam (quarantine).")
    ),
    "dmarc_reject": FindingText(_("DMARC of {name} asks receivers to refuse forgeries (reject).")),
    "weak_dmarc": FindingText(
        _("DMARC is “{policy}” for {domain}"),
        _("Mail arrives, but receivers are not asked to refuse forgeries. Checked: {at}."),
    ),
    # Rules.
    "version_refused": FindingText("{sentence}"),
    "needs_approval": FindingText(_("Another author must approve this version"), "{sentence}"),
}

# By part of the letter.
UNKNOWN_FIELD = {
    "title": _("The title uses an unknown merge field: {field}"),
    "preheader": _("The preview text uses an unknown merge field: {field}"),
    "html_content": _("The letter uses an unknown merge field: {field}"),
    "text_content": _("The plain text uses an unknown merge field: {field}"),
}

# By whether the content is the same, and whether the other issue is scheduled.
DUPLICATE = {
    (True, True): _("Another issue with the same content is scheduled ({at})"),
    (True, False): _("Another issue with the same content was published ({at})"),
    (False, True): _("Another issue with the same title is scheduled ({at})"),
    (False, False): _("Another issue with the same title was published ({at})"),
}
DUPLICATE_DETAIL = _("If you publish this issue too, readers get both.")

_LOCATIONS = {
    "title": _("title"),
    "preheader": _("preview text"),
    "link": _("address of a link"),
    "paragraph": _("paragraph {number}"),
    "text": _("plain text, paragraph {number}"),
    "heading": _("heading"),
    "table": _("table"),
    "list": _("list"),
    "quotation": _("quotation"),
}


def name_location(location: TextLocation) -> str:
    """Return a location as a noun phrase, such as “paragraph 3”."""
    return str(_LOCATIONS[location.kind]).format(number=location.number)
