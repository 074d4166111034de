"""Load the context of all checks of a draft. Reads only."""

from django.conf import settings

from delivery.models import Newsletter
from delivery.reports.sending_health import read_health
from publishing.content.compose_content import compose_content
from publishing.editions.archive_visibility import archive_sentence
from publishing.editions.audience import NOBODY
from publishing.editions.versions import overlap_warnings
from publishing.external_checks.cached_results import CachedResults
from publishing.models import Draft
from publishing.preflight.check_context import CheckContext
from publishing.preflight.checks.letter.empty_merge_fields import load_readers_without_value
from publishing.preflight.checks.letter.values_in_links import load_unfit_values
from publishing.preflight.checks.publication.missing_test_letter import load_sent_test
from publishing.preflight.checks.publication.other_issue_sending import load_other_issues
from publishing.preflight.checks.publication.published_before import load_duplicates
from publishing.preflight.draft_to_check import DraftToCheck


def load_context(checked: DraftToCheck, readers: int, external: CachedResults) -> CheckContext:
    """Load what the checks compare a draft with; `readers` would get it."""
    draft, content, plan = checked.draft, checked.content, checked.plan
    sending = read_health()
    newsletter = Newsletter.objects.get_current()
    return CheckContext(
        content=content,
        letter=checked.letter,
        is_markdown=draft.format == Draft.Format.MARKDOWN,
        has_own_text=bool(draft.text.strip()),
        mail=compose_content(content),
        newsletter=newsletter,
        now=sending.now,
        site_url=settings.SITE_URL,
        sender=newsletter.sender,
        adds_unsubscribe_link=settings.UNSUBSCRIBE_HANDLING == "own",
        readers=readers,
        is_mailed=draft.goes_to != NOBODY,
        archive_note=archive_sentence(checked.visibility),
        without_value=load_readers_without_value(checked),
        own_fields=checked.own_fields,
        unfit_values=load_unfit_values(checked),
        recent_duplicates=load_duplicates(checked, sending.now),
        other_issues=load_other_issues(draft),
        overlap_warnings=tuple(
            overlap_warnings(plan.newest.issue_id, plan.version, draft.goes_to) if plan else ()
        ),
        test=load_sent_test(content),
        worker_is_running=bool(sending.workers),
        worker_seen_at=sending.heard_at,
        external=external,
    )
