"""Count readers whose field values make an address in the letter invalid."""

from collections.abc import Iterable, Iterator

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from delivery.issue_attributes import LETTER
from delivery.reader_fields import ReaderField
from publishing.content.edition_content import Content
from publishing.editions.audience import TagChoice
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, advice
from publishing.preflight.link_address import (
    AddressPart,
    FieldInAddress,
    addresses_in,
    fields_in_addresses,
)
from publishing.preflight.parse_letter import ParsedLetter
from subscribers.confirmed_readers import count_unfit_values

_MAX_FIELDS = 5

_REASONS = {
    AddressPart.BEGINNING: _(
        "The link begins with this merge field, so the field's value or fallback must be a "
        "complete https:// address."
    ),
    AddressPart.HOST: _(
        "This merge field is part of the name of a site. Such a name can only have letters "
        "from a to z, digits, hyphens and dots."
    ),
    AddressPart.RECIPIENT: _(
        "This merge field follows mailto:, so its value or fallback must be an email address."
    ),
}


def load_unfit_values(
    content: Content, letter: ParsedLetter, own: Iterable[ReaderField], tags: TagChoice
) -> dict[tuple[str, str], tuple[int, int]]:
    """Count the readers with an unfit value, and the readers with an empty value.

    Each key is a merge field with the pattern that its values must match.
    """
    fields = _fields_to_match(content, letter, own)
    return count_unfit_values(
        dict.fromkeys((one.field, one.part.value) for one in fields),
        with_tags=tags.with_ids,
        without_tags=tags.without_ids,
    )


def check(context: CheckContext) -> Iterator[Finding]:
    """Find fields whose values break an address."""
    for one in _fields_to_match(context.content, context.letter, context.own_fields):
        unfit, empty = context.unfit_values.get((one.field, one.part), (0, 0))
        if readers := unfit + (0 if one.has_valid_fallback else empty):
            yield advice(
                ngettext_lazy(
                    "{readers} reader gets a broken link because of {field}",
                    "{readers} readers get a broken link because of {field}",
                    "readers",
                ),
                _REASONS[one.part],
                LETTER,
                examples=[one.address],
                field=f"{{{{ {one.field} }}}}",
                readers=readers,
            )


def _fields_to_match(
    content: Content, letter: ParsedLetter, own: Iterable[ReaderField]
) -> list[FieldInAddress]:
    """Return up to `_MAX_FIELDS` fields whose values may make an address invalid."""
    if content.html.strip():
        addresses = [link.address for link in letter.links]
        addresses += [image.address for image in letter.images]
    else:
        addresses = list(addresses_in(content.text))
    return fields_in_addresses(addresses, own)[:_MAX_FIELDS]
