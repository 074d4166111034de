"""The reasons why a field is not added or a tag is not deleted."""

from django.utils.translation import gettext as _

from delivery.humanise import digits
from subscribers.field_and_tag_settings.change_fields_and_tags import TagInUseError
from subscribers.models.fields_and_tags import MOST_FIELDS


def limit_sentence() -> str:
    """Say that there are as many fields as allowed."""
    limit = _("There are {n} fields, which is the limit. Delete one first.")
    return limit.format(n=digits(MOST_FIELDS))


def in_use_sentence(used: TagInUseError) -> str:
    """Say which draft or issue uses the tag."""
    if used.is_draft:
        sentence = _(
            "The tag was not deleted, because the draft “{title}” uses it. Choose other readers "
            "for the draft first."
        )
    else:
        sentence = _(
            "The tag was not deleted, because the scheduled issue “{title}” uses it. Call that "
            "issue back first."
        )
    return sentence.format(title=used.args[0])
