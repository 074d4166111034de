"""Publish an edition, with the options of the publication as keyword arguments."""

import uuid
from typing import Any

from publishing.content.edition_content import Content
from publishing.publish import publish_edition
from publishing.publish.publish_edition import PublishOptions, PublishResult

_OTHERS = ("approved_by", "draft")


def publish(
    author: uuid.UUID, key: str, content: Content, *, hold_s: float, **given: Any
) -> PublishResult:
    """Publish as the product does; `given` may have fields of `PublishOptions`."""
    others = {name: given.pop(name) for name in _OTHERS if name in given}
    options = PublishOptions(**given)
    return publish_edition.publish(author, key, content, options, hold_s=hold_s, **others)
