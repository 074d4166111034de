"""Save filters of the list of readers under a name, for all authors."""

from typing import NamedTuple
from uuid import UUID

from django.contrib.admin.models import ADDITION, DELETION
from django.db import IntegrityError, transaction
from django.db.models.functions import Lower
from django.utils.translation import gettext as _

from delivery.control_characters import clean_name
from delivery.humanise import digits
from subscribers.desk.reader_filter import ReaderFilter
from subscribers.fields.find_tags import hold_tags
from subscribers.models import SavedFilter
from subscribers.models.saved_filter import LONGEST_NAME
from subscribers.record_activity import record_activity

_TAKEN, _NO_ADDRESS = "one_saved_filter_per_name", "a_saved_filter_has_no_whole_address"


class NamedFilter(NamedTuple):
    """A saved filter as the page shows it."""

    pk: int
    name: str
    chosen: ReaderFilter


def load_saved_filters() -> list[NamedFilter]:
    """Load the saved filters by name."""
    return [
        NamedFilter(
            one.pk,
            one.name,
            ReaderFilter(one.state, one.text, one.tag_id, one.source, one.since, one.until),
        )
        for one in SavedFilter.objects.order_by(Lower("name"))
    ]


def save_filter(typed: str, chosen: ReaderFilter, by: UUID) -> str:
    """Save a filter; return the sentence that says why it is not saved, or nothing."""
    name = clean_name(typed.replace("\0", ""))  # PostgreSQL cannot store NUL.
    if not name:
        return _("Enter a name for the filter, such as “New readers of May”.")
    if len(name) > LONGEST_NAME:
        return _("The name has {length} characters. At most {longest} are allowed.").format(
            length=digits(len(name)), longest=digits(LONGEST_NAME)
        )
    if not chosen.parameters:
        return _("Choose a filter or search first. Then save it under a name.")
    saved = SavedFilter(
        name=name,
        state=chosen.state,
        text=chosen.text,
        tag_id=chosen.tag,
        source=chosen.source,
        since=chosen.since,
        until=chosen.until,
    )
    try:
        with transaction.atomic():
            if chosen.tag is not None and not hold_tags([chosen.tag]):
                return _("The tag of this filter was deleted. Choose another tag.")
            saved.save(force_insert=True)
            record_activity("add", by, saved, name=f"saved filter {name}", flag=ADDITION)
    except IntegrityError as error:
        if _TAKEN in str(error):
            return _("Another filter is called “{name}”. Choose another name.").format(name=name)
        if _NO_ADDRESS in str(error):
            return _("A filter for one address cannot be saved. Search for the address instead.")
        raise
    return ""


def delete_filter(pk: int, by: UUID) -> str:
    """Delete a saved filter and return its name; empty if it was deleted before."""
    with transaction.atomic():
        saved = SavedFilter.objects.select_for_update().filter(pk=pk).first()
        if saved is None:
            return ""
        record_activity("delete", by, saved, name=f"saved filter {saved}", flag=DELETION)
        saved.delete()
    return saved.name
