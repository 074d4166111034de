"""The composer's form as it is published at once, and what it asks for."""

from typing import Any

from django import forms

from publishing.content.draft_content import MARKDOWN, build_content, content_as_written
from publishing.content.edition_content import Content, find_problems
from publishing.drafts.draft_form import DraftForm
from publishing.editions.audience import EVERYONE, TAG_FIELDS, choice_of
from publishing.editions.find_edition import HIGHEST_VERSION
from publishing.editions.versions import version_refusal
from publishing.publish.publish_edition import PublishRequest
from subscribers.fields.own_fields import load_own_fields


class PublishForm(DraftForm):
    """A new issue, or the next version of one.

    A valid form has the `publish_request`.
    """

    version = forms.IntegerField(
        required=False, min_value=1, max_value=HIGHEST_VERSION, widget=forms.HiddenInput
    )

    publish_request: PublishRequest

    def clean(self) -> dict[str, Any]:
        found = super().clean()
        content = self._content()
        problems = [] if self.has_too_long_text else find_problems(content, load_own_fields())
        for problem in problems:
            name = self.control_of(problem.attribute)
            if name not in self.errors:
                self.add_error(name, problem.sentence)
        issue, version = found.get("issue"), found.get("version")
        goes_to = found.get("goes_to") or (None if issue else EVERYONE.value)
        if not self.errors.keys() & {"issue", "version", "goes_to"}:
            refusal = version_refusal(issue, version, goes_to)
            if refusal:
                self.add_error(None, refusal)
        tags = None  # those of the issue
        if any(self[name].data is not None for name in TAG_FIELDS):
            tags = choice_of(self.written.with_tags, self.written.without_tags)
        self.publish_request = PublishRequest(
            content=content,
            issue=issue,
            version=version,
            goes_to=goes_to,
            archive=self.written.archive,
            tags=tags,
            without_note=self.written.without_note,
        )
        return found

    def _content(self) -> Content:
        """Return the content to publish. Finished HTML and its text stay as posted."""
        is_markdown = self.written.format == MARKDOWN and not self.has_too_long_text
        return (build_content if is_markdown else content_as_written)(self.written)


# Posts with the same values of these fields are repetitions.
FIELDS = tuple(name for name in PublishForm().fields if name != "revision")
