"""An operator's templates replace ours, and broken templates are found early."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.template import engines

from delivery.mail.check_templates import check_own_templates
from delivery.mail.html_and_text import _compose_transactional, compose
from delivery.models import Newsletter


@pytest.fixture
def own(tmp_path: Path, settings: LazySettings) -> Iterator[Path]:
    """Return the operator's folder of mail templates."""
    [ours] = settings.TEMPLATES
    folders = [tmp_path, *ours["DIRS"]]
    settings.OWN_TEMPLATES_DIR = tmp_path
    settings.TEMPLATES = [{**ours, "DIRS": folders}]
    for name in ("layouts", "parts"):
        (tmp_path / "mail" / name).mkdir(parents=True, exist_ok=True)
    _compose_transactional.cache_clear()
    yield tmp_path / "mail"
    engines["django"].engine.template_loaders[0].reset()
    _compose_transactional.cache_clear()


def problems() -> list[str]:
    return [str(problem.msg) for problem in check_own_templates()]


def test_own_partial_replaces_ours(own: Path) -> None:
    (own / "parts/title.html").write_text("<h1>* {{ title|safe }} *</h1>")
    assert problems() == []
    html = compose("Tides", "<p>x</p>", "", newsletter=Newsletter(), site_url="https://x").html
    assert "<h1>* Tides *</h1>" in html


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("layouts/plain.html", "\n{% if %}", "plain.html, line 2: "),
        ("parts/title.html", "{% include 'nowhere.html' %}", "TemplateDoesNotExist: nowhere.html"),
        ("letter.html", "{{ content }}", "the link {{ unsubscribe_url }} is missing"),
        ("letter.html", "{% include 'mail/footer.html' %}", "the letter’s text is missing"),
        ("transactional.txt", "hello", "the link {{ link }} is missing"),
    ],
)
def test_broken_template_is_named(own: Path, name: str, text: str, problem: str) -> None:
    (own / name).write_text(text)
    assert any(problem in one for one in problems())
