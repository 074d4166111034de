"""The tags of an audience in words."""

from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.humanise import quoted
from publishing.editions.audience import TagChoice
from subscribers.fields.find_tags import UnknownTagError

DELETED_TAG = gettext_lazy("A tag of the audience was deleted. Choose the tags again.")


def tags_sentence(tags: TagChoice) -> str:
    """Say which readers the tags select; empty if they select everyone."""
    sentences = []
    if tags.with_tags:
        sentences.append(_("Only readers with any of these tags: {tags}."))
    if tags.without_tags:
        sentences.append(_("No readers with any of these tags: {excluded}."))
    return " ".join(sentences).format(
        tags=_names(tags.with_tags), excluded=_names(tags.without_tags)
    )


def _names(tags: tuple[tuple[int, str], ...]) -> str:
    return get_text_list([quoted(name) for _tag, name in tags], _("and"))


def unknown_tag_sentence(error: UnknownTagError) -> str:
    """Say that there is no tag with this name, and which one is similar."""
    sentence = _("There is no tag “{name}”.").format(name=error.name[:60])
    hint = _("Did you mean “{meant}”?") if error.meant else _("Add it under Settings first.")
    return f"{sentence} {hint.format(meant=error.meant)}"
