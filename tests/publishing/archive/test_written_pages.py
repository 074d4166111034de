"""About, the imprint and the author's links are public once they are written."""

import pytest

from delivery.models import Newsletter
from publishing.archive.archive_pages import ARCHIVE_POLICY
from publishing.settings.footer_links import footer_links
from tests.subscribers.signup_browser import visitor

pytestmark = pytest.mark.django_db

ABOUT = (
    "# About\n\nI am **Ada**, and I write about swifts from a quay in Tavira.\n\n<script>x</script>"
)


def change(**values: str) -> None:
    Newsletter.objects.update_or_create(pk=1, defaults=values)


@pytest.mark.parametrize("path", ["/about/", "/imprint/"])
def test_page_without_a_text_does_not_exist(path: str) -> None:
    assert visitor().get(path).status_code == 404
    assert f'href="{path}"' not in visitor().get("/").content.decode()


@pytest.mark.parametrize("name", ["about", "imprint"])
def test_written_page_is_sanitised_and_linked(name: str) -> None:
    change(**{name: ABOUT})
    answer = visitor().get(f"/{name}/")
    page = answer.content.decode()
    assert answer["Content-Security-Policy"] == ARCHIVE_POLICY
    assert answer["Cache-Control"] == "public, max-age=60"
    assert page.count("<h1>") == 1
    assert "<p>I am <strong>Ada</strong>, and I write" in page
    assert "<script" not in page
    assert 'name="description" content="I am Ada, and I write about swifts' in page
    assert f'<link rel="canonical" href="https://letter.example.org/{name}/">' in page
    for path in ("/", "/archive/", f"/{name}/"):
        assert f'href="/{name}/"' in visitor().get(path).content.decode()


def test_imprint_elsewhere_is_linked_and_redirected_to() -> None:
    change(imprint="https://ada.example/imprint")
    assert visitor().get("/imprint/")["Location"] == "https://ada.example/imprint"
    assert 'href="https://ada.example/imprint" rel="me noopener"' in visitor().get(
        "/archive/"
    ).content.decode().replace("\n        ", " ")


def test_own_links_come_first_in_the_footer() -> None:
    change(own_links="Books & more https://books.example/ada", about=ABOUT, imprint="Ada")
    footer = visitor().get("/").content.decode().split("<footer")[1]
    names = ("Books &amp; more<", ">About<", ">Imprint<", ">Subscribe<", ">RSS<", "Published with")
    places = [footer.index(name) for name in names]
    assert places == sorted(places)
    links = footer_links(Newsletter.objects.get())
    assert [link.address for link in links] == ["https://books.example/ada", "/about/", "/imprint/"]


@pytest.mark.parametrize(("layout", "is_large"), [("plain", True), ("picture", False)])
def test_pages_and_mails_arrange_the_nameplate_alike(layout: str, is_large: bool) -> None:
    change(layout=layout, tagline="Twice a month", about=ABOUT)
    page = visitor().get("/" if is_large else "/about/").content.decode()
    assert f'class="flag{"" if is_large else " low"}" data-layout="{layout}"' in page
    assert "Twice a month" in page.split("</header>")[0]
