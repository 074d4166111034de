"""Count readers who have no value for a merge field of the letter."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from delivery.issue_attributes import IssueAttribute
from delivery.mail import merge_fields
from delivery.reader_fields import READER_FIELDS, ReaderField
from publishing.content.edition_content import Content, texts_of
from publishing.editions.audience import TagChoice
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, advice, passed
from subscribers.confirmed_readers import count_without_value


def load_readers_without_value(
    content: Content, own: Sequence[ReaderField], tags: TagChoice
) -> dict[str, int]:
    """Return, for each merge field, how many of a draft's readers have no value."""
    parts = (text for one, text in texts_of(content) if one.has_fields)
    return count_without_value(
        [field.name for field in _fields_to_count(own, *parts)],
        with_tags=tags.with_ids,
        without_tags=tags.without_ids,
    )


def _fields_to_count(own: Sequence[ReaderField], *parts: str) -> list[ReaderField]:
    """Return the reader fields in these parts that may be empty for some readers.

    The author's own fields (`own`) are included even if they have a fallback, because they are
    often empty.
    """
    found = [field for part in parts for field in merge_fields.iter_fields(part)]
    names = {field.name for field in found}
    without = {field.name for field in found if not field.fallback}
    return [
        *(field for field in READER_FIELDS if field.name in without),
        *(field for field in own if field.name in names),
    ]


def check(context: CheckContext) -> Iterator[Finding]:
    """Find fields that are empty for some readers."""
    has_unknown = any(problem.merge_field for problem in context.problems)
    texts = [(one, text) for one, text in texts_of(context.content) if one.has_fields]
    fields = _fields_to_count(context.own_fields, *(text for _attribute, text in texts))
    if not fields and not has_unknown:
        used = (field for _part, text in texts for field in merge_fields.iter_fields(text))
        if any(field.name in merge_fields.BODY_FIELDS for field in used):
            yield passed(_("Every merge field has a value for every reader."))
    for field in fields:
        readers, label = context.without_value[field.name], field.label
        if not readers:
            yield passed(_("Every reader has a value for “{label}”."), label=label)
            continue
        first, fallback = _first_use(context, field)
        if fallback:
            yield passed(
                ngettext_lazy(
                    "{readers} of {total} readers has no {label} and sees “{fallback}”.",
                    "{readers} of {total} readers have no {label} and see “{fallback}”.",
                    "readers",
                ),
                readers=readers,
                total=context.readers,
                label=label,
                fallback=fallback,
            )
            continue
        yield advice(
            ngettext_lazy(
                "{readers} reader has no value and no fallback for {field}",
                "{readers} readers have no value and no fallback for {field}",
                "readers",
            ),
            _(
                "These readers see nothing in the field's place. {{{{ {with_fallback} }}}} shows "
                "them “{fallback}”."
            ),
            first,
            readers=readers,
            with_fallback=f"{field.name}|{field.fallback or field.label}",
            fallback=field.fallback or str(field.label),
            field=f"{{{{ {field.name} }}}}",
        )


def _first_use(context: CheckContext, field: ReaderField) -> tuple[IssueAttribute, str]:
    """Return a part that uses the field, if possible a part without a fallback.

    The second value is the fallback that the returned part gives to the field. If there is none,
    the second value is the default fallback of an author's own field, or empty.
    """
    uses = [
        (part, found.fallback or (field.fallback if field in context.own_fields else ""))
        for part, text in texts_of(context.content)
        if part.has_fields
        for found in merge_fields.iter_fields(text)
        if found.name == field.name
    ]
    return next((use for use in uses if not use[1]), uses[0])
