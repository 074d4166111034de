"""Extract the product's texts, and the files that contain each text."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from babel.messages.extract import extract_python
from django.utils.translation.template import templatize

REPOSITORY = Path(__file__).parents[2]
Message = str | tuple[str, str]  # one text, or a singular and a plural

PRODUCT = ("delivery", "idempotency", "newsletter_site", "publishing", "subscribers", "templates")
# The texts of these files stay English: programs read them, operators search for them, or they are
# shown before Django runs.
ENGLISH_ONLY = (
    *("delivery/check_settings.py", "delivery/feedback/webhook_view.py"),
    *("delivery/postmark/check_postmark_settings.py", "delivery/postmark/classify_responses.py"),
    *("delivery/postmark/message_rules.py", "delivery/postmark/parse_events.py"),
    "idempotency/example/",
    *("newsletter_site/api/", "newsletter_site/check_site_settings.py", "newsletter_site/demo/"),
    *("newsletter_site/embedded_postgres/", "newsletter_site/environment", "newsletter_site/logs/"),
    "newsletter_site/groups.py",  # these names are stored in the database
    *("newsletter_site/management/commands/serve.py", "newsletter_site/operations/metrics/"),
    "newsletter_site/settings",
    *("newsletter_site/serving/", "publishing/api/", "newsletter_site/demo/material/"),
    "subscribers/api/",
)

KEYWORDS = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), None),
    **dict.fromkeys(("ngettext", "ngettext_lazy", "counted"), (1, 2)),
}
# Files with texts on the pages and in the mails of readers. A test renders every page of readers,
# so it finds files that are missing in this list.
FOR_READERS = (
    *("templates/400.html", "templates/403.html", "templates/404.html", "templates/413.html"),
    *(
        "templates/500.html",
        "templates/503.html",
        "templates/layouts/base.html",
        "templates/layouts/error.html",
    ),
    *(
        "templates/archive/front_page.html",
        "templates/reader",
        "templates/layouts/solo.html",
        "templates/archive/",
    ),
    *("templates/mail/", "templates/subscribers/after_", "templates/subscribers/confirm"),
    *(
        "templates/subscribers/damaged_",
        "templates/subscribers/data_",
        "templates/subscribers/erase",
    ),
    *("templates/subscribers/personal_data", "templates/subscribers/preferences.html"),
    *("templates/subscribers/sign_up", "templates/subscribers/single_page.html"),
    *("templates/subscribers/test_letter_link.html", "templates/subscribers/topic_choices.html"),
    "templates/subscribers/un",
    *("templates/unknown_host.html", "templates/web_server_refusal.html"),
    *("delivery/mail/transactional_mail_texts.py", "delivery/reader_fields.py"),
    *("newsletter_site/middleware/", "newsletter_site/operations/concurrency_limit.py"),
    *("publishing/content/videos.py", "subscribers/consent/"),
    *("publishing/archive/written_pages.py", "publishing/settings/footer_links.py"),
    "subscribers/data_requests/personal_data_sentences.py",
    *(
        "subscribers/signup/",
        "subscribers/typed_refusal_sentences.py",
        "subscribers/suppression_sentences.py",
    ),
)
NOT_FOR_READERS = ("templates/subscribers/undo_import.html",)

# Files of commands and health checks, which operators read in English.
FOR_OPERATORS = (
    *("delivery/reconcile/", "delivery/reports/audit.py", "delivery/worker/drain.py"),
    *("delivery/check_settings.py", "idempotency/isolation.py"),
    *("newsletter_site/backup/", "newsletter_site/migration_locks.py"),
    *("newsletter_site/operations/health/", "newsletter_site/data_retention.py"),
    *("newsletter_site/authors/account_commands.py", "newsletter_site/sign_in/operator_record.py"),
    "publishing/receipts/drop_old_deliveries.py",
    "publishing/management/command_bases.py",
)


def files() -> list[str]:
    """List the modules and templates of the product whose texts are translated."""
    found = [path for folder in PRODUCT for path in (REPOSITORY / folder).rglob("*")]
    names = sorted(path.relative_to(REPOSITORY).as_posix() for path in found)
    kinds = (".py", ".html", ".txt")
    return [name for name in names if name.endswith(kinds) and not name.startswith(ENGLISH_ONLY)]


@cache
def messages() -> dict[Message, set[str]]:
    """Return every marked text of the product with its files."""
    found: dict[Message, set[str]] = defaultdict(set)
    for path in files():
        for message in _messages_in(path):
            found[message].add(path)
    return dict(found)


def for_readers(paths: set[str]) -> bool:
    """Return whether a text of these files is shown to readers."""
    return any(
        path.startswith(FOR_READERS) and not path.startswith(NOT_FOR_READERS) for path in paths
    )


def for_operators(paths: set[str]) -> bool:
    """Return whether a text of these files is only in the output of commands."""
    return all("/management/" in path or path.startswith(FOR_OPERATORS) for path in paths)


def _messages_in(path: str) -> Iterator[Message]:
    source = (REPOSITORY / path).read_text()
    if not path.endswith(".py"):
        # `templatize` writes the template's texts as Python code. Remove the indentation,
        # because Python would refuse it.
        marked = templatize(source, origin=path)
        source = "\n".join(line.strip() for line in marked.splitlines()) + "\n"
    lines = io.BytesIO(source.encode())
    for _line, _function, message, _comments in extract_python(lines, KEYWORDS, (), {}):
        if isinstance(message, str) and message:
            yield message
        elif isinstance(message, tuple):
            singular, plural, *_number = message
            if isinstance(singular, str) and isinstance(plural, str):
                yield singular, plural
