"""A draft with what its publication would be."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from delivery.reader_fields import ReaderField
from publishing.content.edition_content import Content
from publishing.editions.audience import TagChoice
from publishing.editions.versions import VersionPlan
from publishing.models import Draft, Visibility
from publishing.preflight.parse_letter import ParsedLetter


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftToCheck:
    """What the checks that read the database need; `plan` is None for a new issue."""

    draft: Draft
    publisher: uuid.UUID
    content: Content
    letter: ParsedLetter
    own_fields: Sequence[ReaderField]
    plan: VersionPlan | None
    tags: TagChoice
    visibility: Visibility
