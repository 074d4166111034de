"""A video's picture is fetched once, if it is small enough, from the video's host."""

import io
import ssl

import pytest
from django.utils import timezone
from PIL import Image

from publishing.content.videos import Video
from publishing.external_checks.open_link import LinkOpener
from publishing.images.prepare_video import MOST_FETCHED_BYTES, store_picture, video_markdown
from publishing.images.resize_image import UnusableImageError
from publishing.images.store_image import address_of
from publishing.models import UploadAttempts, UploadedImage
from tests.publishing.author_browser import FORM, WindowOf
from tests.publishing.external_checks.fake_name_server import LocalNameServer
from tests.publishing.external_checks.fake_web_server import LocalWebServer
from tests.publishing.external_checks.test_external_checks import CERTIFICATE

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = f"{FORM}videos/"
VIDEO = Video("https://youtu.be/a_b-C_3d_E5?t=9", "a_b-C_3d_E5")
LARGE, SMALL = (f"/vi/a_b-C_3d_E5/{size}.jpg" for size in ("maxresdefault", "hqdefault"))
VIMEO = "https://vimeo.com/76979871"


def frame(width=64):
    file = io.BytesIO()
    Image.new("RGB", (width, 36), (20, 60, 200)).save(file, "JPEG")
    return file.getvalue()


@pytest.fixture
def site():
    """Serve pictures over HTTPS; paths without a picture answer 404."""
    with LocalWebServer(CERTIFICATE) as server:
        server.paths = {LARGE: "/404", SMALL: "/404"}
        yield server


@pytest.fixture
def fetched(site, author):
    """Return a function that stores the picture of a video from `site`."""
    trusted = ssl.create_default_context(cafile=CERTIFICATE)

    def fetch(video=VIDEO, is_allowed=lambda place: place.is_loopback):
        with LocalNameServer() as names:
            opener = LinkOpener(names.known(), is_allowed, trusted)
            return store_picture(video, opener, by=author.pk, host=f"127.0.0.1:{site.port}")

    return fetch


@pytest.mark.parametrize("path", [LARGE, SMALL])
def test_the_picture_is_stored_once_and_served_by_us(site, fetched, path):
    site.files[path] = frame()
    del site.paths[path]

    first, again = fetched(), fetched()

    assert first == again == UploadedImage.objects.get()
    assert WindowOf(None).get(address_of(first)).status == 200
    assert {header for _, header, _ in site.requests} == {f"127.0.0.1:{site.port}"}
    assert not any("Cookie" in headers for headers in site.headers)
    assert video_markdown(VIDEO, first, "Swifts [1]") == (
        f"[![Video: Swifts \\[1\\]]({address_of(first)}){{width=100%}}]({VIDEO.address})"
    )
    assert video_markdown(VIDEO, first, "").startswith("[![Watch the video](/")


@pytest.mark.parametrize(
    "answer",
    [
        "/500",
        "/drip",
        "/bytes-9",
        f"/bytes-{MOST_FETCHED_BYTES + 1}",
        "/bytes-5-cut",
        "/to?u=http://{host}/a.jpg",
    ],
)
def test_a_picture_that_cannot_be_had_is_left_out(site, fetched, monkeypatch, answer):
    monkeypatch.setattr("publishing.images.prepare_video.FETCH_TIMEOUT_S", 1.0)
    answer = answer.format(host=f"127.0.0.1:{site.port}")
    site.paths = dict.fromkeys((LARGE, SMALL), answer)

    assert fetched() is None

    assert not UploadedImage.objects.exists()
    assert video_markdown(VIDEO, None, "Swifts") == VIDEO.address


def test_a_play_sign_is_drawn_into_the_picture(site, fetched):
    site.files[LARGE] = frame(1280)
    del site.paths[LARGE]

    drawn = Image.open(io.BytesIO(fetched().content))

    assert drawn.size == (1200, 34)
    assert min(drawn.getpixel((600, 17))) > 200
    assert max(drawn.getpixel((600, 13))) < 110 < drawn.getpixel((20, 17))[2]


def test_a_picture_of_another_host_is_not_fetched(site, fetched):
    with LocalWebServer(CERTIFICATE) as another:
        another.files["/a.jpg"] = frame()
        elsewhere = f"/to?u=https://127.0.0.1:{another.port}/a.jpg"
        site.paths = dict.fromkeys((LARGE, SMALL), elsewhere)

        assert fetched() is None

    assert not another.requests


def test_fetches_count_as_uploads_of_the_hour(site, fetched, settings):
    settings.PICTURES_PER_HOUR = 1
    assert fetched() is None
    asked = len(site.requests)

    with pytest.raises(UnusableImageError):
        fetched()

    assert len(site.requests) == asked


def test_a_video_without_a_picture_is_inserted_as_a_button(window):
    page = window.post(PAGE, video_address=f" {VIMEO} ", video_title="Swifts")
    in_html = window.post(PAGE, video_address=VIMEO, format="html")

    assert f'data-insert="{VIMEO}"' in page.html
    assert "There is no image for this video." in page.words
    assert f"&lt;p class=&quot;button&quot;&gt;&lt;a href=&quot;{VIMEO}&quot;" in in_html.html
    assert not UploadAttempts.objects.exists()


def test_another_address_is_refused_without_a_request(window):
    page = window.post(PAGE, video_address="https://i.ytimg.com.example.org/watch?v=a_b-C_3d_E5")

    assert "not the address of a video on YouTube or Vimeo" in page.words
    assert "data-insert" not in page.source
    assert not UploadAttempts.objects.exists()


def test_at_the_limit_of_the_hour_the_page_says_so(window, settings):
    settings.PICTURES_PER_HOUR = 1
    UploadAttempts.objects.create(author=window.author, since=timezone.now(), tries=1)
    page = window.post(PAGE, video_address=VIDEO.address)
    assert "You have reached the limit of" in page.words
