"""The tags of an audience in words."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.models import Edition
from delivery.reports.edition_sentences import audience_words
from publishing.editions.audience import TagChoice
from subscribers.fields.find_tags import UnknownTagError

DELETED_TAG = gettext_lazy("A tag of the audience was deleted. Choose the tags again.")


def choice_words(goes_to: str, tags: TagChoice, *, is_scheduled: bool = False) -> str:
    """Return words for the audience of a choice of tags, for use within a sentence."""
    names = (
        [name for _tag, name in chosen if name] for chosen in (tags.with_tags, tags.without_tags)
    )
    return audience_words(goes_to, *names, is_scheduled=is_scheduled)


def edition_audience(edition: Edition) -> str:
    """Return words for the audience of an edition, for use within a sentence."""
    is_scheduled = edition.control == Edition.Control.SCHEDULED
    return choice_words(edition.goes_to, TagChoice.of(edition), is_scheduled=is_scheduled)


def unknown_tag_sentence(error: UnknownTagError) -> str:
    """Say that there is no tag with this name, and which one is similar."""
    sentence = _("There is no tag “{name}”.").format(name=error.name[:60])
    hint = _("Did you mean “{meant}”?") if error.meant else _("Add it under Settings first.")
    return f"{sentence} {hint.format(meant=error.meant)}"
