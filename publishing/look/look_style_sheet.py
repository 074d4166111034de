"""The style sheet with the newsletter's colours and typefaces, for readers' pages."""

import hashlib

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe

from delivery.mail.colours_and_typefaces import ON_DARK_ACCENT, ON_LIGHT_ACCENT, SANS, Look, look_of
from delivery.models import Newsletter

YEAR_S, MINUTE_S = 31_536_000, 60


def look_sheet(look: Look) -> str:
    """Return CSS for the tokens of static/tokens.css that differ between newsletters."""
    light = _colours(look.accent.light, look.accent.light_deep, ON_LIGHT_ACCENT)
    dark = _colours(look.accent.dark, look.accent.dark_deep, ON_DARK_ACCENT)
    heading, text = ("sans" if one == SANS else "serif" for one in (look.heading, look.text))
    bold = "--bold: 700; --slant: normal;" if look.has_sans_headings else ""
    return (
        f":root {{ --heading: var(--{heading}); --text: var(--{text}); {bold} {light} }}\n"
        "@media screen and (prefers-color-scheme: dark) {\n"
        f"  :root:not([data-theme=light]) {{ {dark} }}\n}}\n"
        f":root[data-theme=dark] {{ {dark} }}\n"
    )


def look_address(newsletter: Newsletter) -> str:
    """Return the style sheet's path; the path changes when the sheet changes."""
    return f"{reverse('look')}?v={_version_of(look_sheet(look_of(newsletter)))}"


@require_safe
def serve_look(request: HttpRequest) -> HttpResponse:
    """Serve the style sheet.

    Caches keep the sheet for a year if the URL names the sheet's current version.
    """
    sheet = look_sheet(look_of(Newsletter.objects.get_current()))
    answer = HttpResponse(sheet, content_type="text/css; charset=utf-8")
    is_current = request.GET.get("v") == _version_of(sheet)
    patch_cache_control(answer, public=True, max_age=YEAR_S if is_current else MINUTE_S)
    return answer


def _colours(accent: str, deep: str, on_accent: str) -> str:
    return (
        f"--sent: {accent}; --sent-deep: {deep}; --sent-fill: {accent}; --on-sent: {on_accent}; "
        f"--link: {accent}; --rule-ink: {accent};"
    )


def _version_of(sheet: str) -> str:
    """Return a short hash of the style sheet."""
    return hashlib.sha256(sheet.encode()).hexdigest()[:12]
