"""The words of each finding, by its code, and of a summary of all findings. Pure."""

import re
from collections.abc import Callable
from datetime import datetime

from delivery.humanise import counted, enumerated, ordinal, so_many
from publishing.preflight.finding import Finding, Findings
from publishing.preflight.parse_letter import TextLocation

# A line for each code and its sentence, and indented below it the detail. A number takes its noun:
# {images:image has|images have} begins a sentence, {words:#word} does not.
_TEXTS = """
content_problem: {sentence}
unmatched_braces: A “{found}” is missing its “{missing}” {location}
    Readers see it as it is written. A merge field has both.
forgotten_note: “{note}” {location} looks like a forgotten note
    Readers see it as it is written.
foreign_merge_field: “{note}” {location} looks like a merge field of another program
    Here one is written {{{{ name|reader }}}}; readers see this one as it is.
long_subject: The subject has {length} characters, and phones show about {shown}
    The rest is cut off. Put what matters first.
script: The letter has a script, which does nothing in a mail
    Mail programs remove it, and filters may take the letter for spam. The archive leaves it out.
fields_have_values: Every merge field has a value for every reader.
field_has_values: Every reader has a {label}.
field_without_value: {readers:reader has|readers have} no {label}, and there is no fallback for
    They find nothing in its place. With {{{{ {with_fallback} }}}} they read “{fallback}”.
archive_only: Not mailed: archive only. {archive_note}
no_readers: This issue would go to nobody
    No reader is confirmed among those it is meant for. {archive_note}
version_overlap: {sentence}
test_sent: A test was sent to {address} at {at}.
no_test: You haven't sent a test of this version
    A test letter shows in a real mailbox what readers will see.
no_duplicate: Nothing like this was published in the last seven days.
other_issue_sending: “{title}” is still going out
    {waiting:#copy waits|copies wait}. The two take turns, and neither waits for the other's end.
worker_running: A worker is running to send it.
no_worker: No worker is running
    The issue would be accepted and wait. Start one with ./homing deliver.
worker_stopped: No worker is running
    The last one was heard from at {at}. The issue would be accepted and wait. Start one with
    ./homing deliver.
images_without_alt: {images:image has|images have} no alt text
    Readers without images, and those who listen, get nothing in its place.
images_have_alt: {images:image has its|images have their} alt text.
images_unreachable: {images:image} cannot be loaded by readers
    A mail has no site of its own: an image needs a whole address that is reachable from
    everywhere.
images_over_http: {images:image comes|images come} over http
    Some mail programs leave out what does not come over https.
links_empty: {links:link leads|links lead} nowhere
    Nothing happens when it is pressed.
links_relative: {links:link is|links are} relative
    A mail has no site of its own: a link needs a whole address, with https://.
links_unsupported: {links:link} cannot be opened from a mail
    Mail programs know https, mailto and tel.
links_private: {links:link leads to a place|links lead to places} that readers cannot reach
    It is an address of this machine or of a network at home.
links_over_http: {links:link is|links are} http
    Browsers warn before such a page; most sites answer under https too.
no_relative_links: No relative links.
links_failed: {links:link answers|links answer} {status}
links_dead: {links:link is|links are} dead
    What was found: {error}.
links_unclear: {links:link} could not be judged
    What was found: {results}. Readers may well be shown the page; open it once yourself.
links_unopened: The links have not been opened yet
links_timed_out: {links:link} could not be opened in time
links_beyond_limit: {links:link is|links are} not opened
    Only the first {limit} links of a letter are. Open the others yourself.
links_ok: {links:link answers|links answer}.
first_links_ok: The first {links} links answer.
site_unreachable: Readers cannot reach this site
    Every mail leads to {site_url}, for unsubscribing, for reading on the web and for the images
    that were added here. An operator sets SITE_URL to the address that readers see.
clipped: Gmail will cut this letter off: it has {size} kB
    At 102 kB it shows “View entire message” instead of the rest, with the unsubscribe link in it.
    Images do not count.
nearly_clipped: The letter has {size} kB, and Gmail cuts at 102 kB
    What stands for each reader in the place of a merge field comes on top.
size_ok: The size is far from the limit.
no_text_part: There is no text part
    Readers whose mail shows no HTML get an empty letter, and filters take it for spam.
short_text_part: The text part has {words:,} words and the letter {letter_words:,}
    It is your own and was perhaps forgotten; emptied, it is made from the letter again.
text_part: The text part has {words:#word}.
plain_text_only: It goes out as plain text.
preheader_set: The preview text is set.
no_preheader: There is no preview text
    Beside the subject an inbox shows the first words of the letter instead.
own_unsubscribe_link: The unsubscribe link is in the letter, and one-click unsubscribe is present.
unsubscribe_link: The foot has the unsubscribe link, and one-click unsubscribe is present.
own_link_postmark: The unsubscribe link is in the letter; Postmark adds one-click unsubscribe.
link_postmark: The foot has the unsubscribe link; Postmark adds one-click unsubscribe.
unnamed_newsletter: The newsletter is still called “{name}”
    That is the name it was installed with; it is at the head of every mail and page.
no_postal_address: There is no postal address
    The law of many countries asks for one in every newsletter; it is shown in the foot.
no_language: No language is set
    Screen readers use it, and mail programs that translate.
language_set: The language is set to {language}.
placeholder_domain: {domain} is a placeholder. Set your own sender
    Nobody can own this domain, so no provider sends in its name. An operator sets FROM_EMAIL to an
    address of your own.
domain_unchecked: The records of {domain} have not been looked up yet
no_such_domain: There is no domain {domain}
    The name servers do not know it, so receivers refuse mail from it. Looked up at {at}.
dns_failed: {records} of {domain} could not be looked up
    No name server answered. Looked up at {at}.
several_spf: {domain} has {count} SPF records
    There may be one; with more, receivers take SPF for failed. Looked up at {at}.
spf_allows_all: SPF of {domain} lets everybody send in its name
    It ends in “all”; “~all” or “-all” says that nobody else does. Looked up at {at}.
spf_return_path: SPF passes: the return path of {domain} leads to Postmark.
spf_postmark: SPF of {domain} names Postmark.
spf_without_postmark: SPF of {domain} does not name Postmark
    Its mail passes SPF under Postmark's own domain, which counts nothing for yours; a return path
    of your own at Postmark, usually pm-bounces, makes it count. If your return path has another
    name, all is well. Looked up at {at}.
no_spf: {domain} has no SPF record and no return path at pm-bounces
    Its mail passes SPF under Postmark's own domain, which counts nothing for yours. If your return
    path has another name, all is well. Looked up at {at}.
dkim_key: DKIM has a key at pm._domainkey.{domain}.
dkim_unclear: Whether mail from {domain} is signed (DKIM) could not be seen
    Postmark's key usually has a name with a date in it, which cannot be guessed; there is none at
    pm._domainkey. Postmark shows under Sender Signatures whether it is verified. Looked up at
    {at}.
no_dmarc: {domain} has no DMARC record
    Large mailboxes ask it of senders of bulk mail, and put mail aside without it. A text
    “v=DMARC1; p=none” at _dmarc.{domain} is a beginning. Looked up at {at}.
several_dmarc: {name} has {count} DMARC records
    There may be one; with more, receivers ignore them all. Looked up at {at}.
dmarc_quarantine: DMARC of {name} puts forgeries aside (quarantine).
dmarc_reject: DMARC of {name} has forgeries refused (reject).
weak_dmarc: DMARC is “{policy}” for {domain}
    Mail arrives, but receivers are not asked to refuse forgeries. Looked up at {at}.
version_refused: {sentence}
needs_approval: Somebody else has to approve this version
    {sentence}
"""
_LOCATIONS = {
    "title": "in the title",
    "preheader": "in the preview text",
    "link": "in the address of a link",
    "paragraph": "in the {} paragraph",
    "text": "in the {} paragraph of the text part",
}
_PARTS = {
    "title": "title",
    "preheader": "preview text",
    "html_content": "letter",
    "text_content": "text part",
}
Clock = Callable[[datetime], str]


def _parse(texts: str) -> dict[str, tuple[str, str]]:
    entries = re.findall(r"^(\w+): (.*)\n((?:    .*\n)*)", texts, re.MULTILINE)
    return {code: (sentence, " ".join(detail.split())) for code, sentence, detail in entries}


_SENTENCES = _parse(_TEXTS)


class _Count(int):
    def __format__(self, spec: str) -> str:
        if spec.startswith("#"):
            return counted(self, *spec[1:].split("|"))
        if spec and spec[0].isalpha():
            return so_many(self, *spec.split("|"))
        return int.__format__(self, spec)


def describe(finding: Finding, clock: Clock) -> tuple[str, str]:
    """A finding's sentence and detail; `clock` writes times."""
    params = {name: _as_text(value, clock) for name, value in finding.params.items()}
    if finding.code == "unknown_field":
        location = f"{params['location']}. " if params["location"] else ""
        meant = f"Was “{{{{ {params['meant']} }}}}” meant? " if params["meant"] else ""
        return (
            f"The {_PARTS[str(params['part'])]} uses a field that does not exist:",
            f"{location[:1].upper()}{location[1:]}{meant}Known fields are {params['known']}.",
        )
    if finding.code == "duplicate":
        same = "The same words" if params["same_words"] else "The same title"
        plural = bool(params["same_words"])
        scheduled = f"{'are' if plural else 'is'} scheduled for"
        published = f"{'were' if plural else 'was'} published at"
        return (
            f"{same} {scheduled if params['is_scheduled'] else published} {params['at']}",
            "As another issue. Publishing this makes a second one, and readers get both.",
        )
    sentence, detail = _SENTENCES[finding.code]
    return sentence.format(**params), detail.format(**params)


def summarise(findings: Findings) -> str:
    """One sentence with the number of findings of each severity."""
    stops, advised, unknown = (len(findings[one]) for one in ("stops", "advice", "unknown"))
    sentences = ["Nothing stops this issue."]
    if stops:
        sentences = [f"{so_many(stops, 'thing stops', 'things stop')} this issue."]
    if advised:
        nouns = ("more is", "more are") if stops else ("thing is", "things are")
        sentences.append(f"{so_many(advised, *nouns)} advice and up to you.")
    if unknown:
        sentences.append(f"{so_many(unknown, 'thing is', 'things are')} not known.")
    return " ".join(sentences)


def refuse(findings: Findings, clock: Clock) -> str:
    """How many stops are left, and the first of them as a whole sentence; empty without any."""
    stops = findings["stops"]
    if not stops:
        return ""
    first = stops[0]
    sentence = f"{describe(first, clock)[0]} {merge_field_of(first)}".strip()
    left = so_many(len(stops), "stop is", "stops are")
    return f"{left} left: {sentence}{'' if sentence.endswith('.') else '.'}"


def merge_field_of(finding: Finding) -> str:
    """The merge field that a finding is about, as the author wrote it; empty if none."""
    name = finding.params.get("field")
    return f"{{{{ {name} }}}}" if name else ""


def _as_text(value: object, clock: Clock) -> object:
    if isinstance(value, TextLocation):
        return _LOCATIONS.get(value.kind, f"in a {value.kind}").format(ordinal(value.number))
    if isinstance(value, datetime):
        return clock(value)
    if isinstance(value, tuple):
        return enumerated([*map(str, value)])
    return _Count(value) if type(value) is int else value
