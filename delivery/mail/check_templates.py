"""A system check of the operator's own templates of letters."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.template import TemplateDoesNotExist, TemplateSyntaxError
from django.template.loader import get_template
from django.utils.translation import gettext as _

from delivery.mail.html_and_text import compose, compose_transactional
from delivery.mail.merge_fields import uses_field
from delivery.mail.transactional_mail_texts import ISSUE_BY_KIND
from delivery.models import Newsletter
from delivery.models.newsletter import Header, Layout

_SAMPLE = "sample-7919"
_FIELD = "unsubscribe_url"


@register("homing")
def check_own_templates(**kwargs: Any) -> Iterable[CheckMessage]:
    """Compile the operator's templates, and render a sample in every layout."""
    folder = settings.OWN_TEMPLATES_DIR
    own = sorted(path for path in folder.glob("mail/**/*") if path.is_file())
    broken = [problem for path in own if (problem := _compile(path, folder))]
    yield from broken
    if own and not broken:
        for layout in Layout.values:
            if found := _render(layout):
                yield _error(_("Layout “{layout}”: {problem}"), layout=layout, problem=found)


def _compile(path: Path, folder: Path) -> CheckMessage | None:
    try:
        get_template(path.relative_to(folder).as_posix())
    except (TemplateSyntaxError, TemplateDoesNotExist, UnicodeDecodeError) as error:
        line = getattr(getattr(error, "token", None), "lineno", 0)
        return _error(
            _("{path}, line {line}: {problem}"), path=path, line=line or "?", problem=error
        )
    return None


def _render(layout: str) -> str:
    """Return the problem of a letter or of a mail on request; "" if there is none."""
    newsletter = Newsletter(
        layout=layout,
        header=Header.BOTH,
        logo="/logo.png",
        logo_width=9,
        logo_height=9,
        dark_logo="/dark.png",
        dark_logo_width=9,
        dark_logo_height=9,
    )
    try:
        mail = compose(
            "Title", f"<p>{_SAMPLE}</p>", _SAMPLE, newsletter=newsletter, site_url=settings.SITE_URL
        )
        on_request = [compose_transactional(kind, newsletter)[1] for kind in ISSUE_BY_KIND]
    except Exception as error:  # noqa: BLE001 -- whatever a template raises
        return f"{type(error).__name__}: {error}"
    if _SAMPLE not in mail.html or _SAMPLE not in mail.text:
        return _("the letter’s text is missing. Keep {content}.").format(content="{{ content }}")
    for field, parts in ((_FIELD, [mail]), ("link", on_request)):
        if not all(uses_field(text, field) for one in parts for text in (one.html, one.text)):
            return _("the link {field} is missing.").format(field=f"{{{{ {field} }}}}")
    return ""


def _error(sentence: str, **values: object) -> CheckMessage:
    return Error(
        sentence.format(**values),
        hint=_("Correct the template in HOMING_TEMPLATES_DIR, or delete it to use ours."),
        id="delivery.E003",
    )
