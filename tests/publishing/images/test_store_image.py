"""Images in letters are prepared for mail, stored once, and shown to everybody."""

import io
import json
import random
from contextlib import suppress
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import F
from PIL import Image, ImageOps, PngImagePlugin

from publishing.images import store_image
from publishing.images.resize_image import UnusableImageError, resize_image
from publishing.models import LARGEST_IMAGE, UploadAttempts, UploadedImage
from tests.publishing.author_browser import Page, WindowOf

UPLOAD = "/admin/newsletters/pictures/"


def picture(kind: str = "PNG", size: tuple[int, int] = (40, 30), mode: str = "RGB", **how) -> bytes:
    """Return the bytes of an image with a single colour."""
    file = io.BytesIO()
    colour = {"RGB": (20, 60, 200), "RGBA": (20, 60, 200, 90)}.get(mode, 7)
    Image.new(mode, size, colour).save(file, kind, **how)
    return file.getvalue()


def noise(size: tuple[int, int]) -> Image.Image:
    """Return an image of random noise, which compresses badly."""
    return Image.frombytes("RGB", size, random.Random(7).randbytes(3 * size[0] * size[1]))


def read(small) -> Image.Image:
    return Image.open(io.BytesIO(small.content))


def upload(window: WindowOf, file: bytes, name: str = "swifts.png", alt: str = "", script=True):
    headers = {"Accept": "application/json"} if script else {}
    fields = {"image": SimpleUploadedFile(name, file), "alt": alt}
    return window.client.post(UPLOAD, fields, secure=True, headers=headers)


class TestMadeFitForMail:
    @pytest.mark.parametrize(
        ("kind", "becomes"),
        [
            ("PNG", "image/png"),
            ("JPEG", "image/jpeg"),
            ("GIF", "image/png"),
            ("WEBP", "image/jpeg"),
        ],
    )
    def test_images_become_a_type_that_mail_programs_show(self, kind, becomes):
        small = resize_image(picture(kind))

        assert small.content_type == becomes
        assert (small.width, small.height) == read(small).size == (40, 30)

    def test_images_are_at_most_1200_pixels_wide(self):
        small = resize_image(picture(size=(3000, 1500)))

        assert read(small).size == (small.width, small.height) == (1200, 600)

    def test_an_image_is_turned_upright_and_loses_its_metadata(self):
        exif = Image.Exif()
        exif[0x0112] = 6  # to be shown rotated by 90 degrees
        exif[0x010E] = "In the garden of the mayor"
        exif.get_ifd(0x8825)[1] = "N"
        remarks = PngImagePlugin.PngInfo()
        remarks.add_text("Author", "my diary")
        assert b"diary" not in resize_image(picture(pnginfo=remarks)).content
        small = resize_image(picture("JPEG", (40, 30), exif=exif, comment=b"my diary"))

        assert read(small).size == (30, 40)
        assert not read(small).getexif()
        for remark in (b"garden", b"diary", b"Exif"):
            assert remark not in small.content

    @pytest.mark.parametrize("held", [1, 2, 3, 4, 5, 6, 7, 8])
    def test_images_are_upright_for_every_camera_orientation(self, held):
        exif = Image.Exif()
        exif[0x0112] = held
        half = Image.new("RGB", (40, 30), "white")
        half.paste("red", (0, 0, 40, 10))
        half.paste("blue", (0, 0, 10, 30))
        file = io.BytesIO()
        half.save(file, "PNG", exif=exif)

        small = read(resize_image(file.getvalue()))

        upright = ImageOps.exif_transpose(Image.open(io.BytesIO(file.getvalue())))
        assert small.size == upright.size
        assert small.tobytes() == upright.tobytes()

    def test_any_damaged_file_is_refused_with_a_sentence(self):
        exif = Image.Exif()
        exif[0x0112], exif[0x010F], exif[0x9286] = 6, "Some camera", b"remark"
        files = [picture(kind, exif=exif) for kind in ("JPEG", "PNG", "WEBP")] + [picture("GIF")]
        chance = random.Random(5)

        for _ in range(300):
            broken = bytearray(chance.choice(files))
            for _ in range(chance.choice([1, 2, 5])):
                broken[chance.randrange(min(len(broken), 200))] = chance.choice([0, 1, 2, 127, 255])
            with suppress(UnusableImageError):
                resize_image(bytes(broken))

    def test_a_photograph_with_a_second_image_becomes_a_still_image(self):
        file = io.BytesIO()
        small, large = Image.new("RGB", (8, 6), "white"), Image.new("RGB", (40, 30), "blue")
        large.save(file, "MPO", save_all=True, append_images=[small])

        kept = resize_image(file.getvalue())

        assert (kept.content_type, kept.width, kept.height) == ("image/jpeg", 40, 30)

    @pytest.mark.parametrize("kind", ["PNG", "JPEG"])
    def test_images_are_at_most_two_megabytes(self, kind):
        file = io.BytesIO()
        noise((1100, 1100)).save(file, kind, **({"quality": 100} if kind == "JPEG" else {}))
        assert len(file.getvalue()) > LARGEST_IMAGE

        small = resize_image(file.getvalue())

        assert len(small.content) <= LARGEST_IMAGE
        assert read(small).size == (small.width, small.height)

    def test_a_large_transparent_image_stays_transparent(self):
        rich = noise((1000, 1000)).convert("RGBA")
        rich.putalpha(Image.linear_gradient("L").resize((1000, 1000)))
        file = io.BytesIO()
        rich.save(file, "PNG")

        small = resize_image(file.getvalue())

        assert len(small.content) <= LARGEST_IMAGE
        assert read(small).convert("RGBA").getextrema()[3][0] < 255
        assert read(resize_image(picture("WEBP", mode="RGBA"))).mode == "RGBA"

    def test_an_animated_gif_stays_animated_and_loses_its_comment(self):
        frames = [Image.new("RGB", (30, 20), colour) for colour in ("red", "green", "blue")]
        file = io.BytesIO()
        frames[0].save(
            file, "GIF", save_all=True, append_images=frames[1:], loop=0, comment=b"my diary"
        )
        assert b"diary" in file.getvalue()

        small = resize_image(file.getvalue())

        assert small.content_type == "image/gif"
        assert read(small).n_frames == 3
        assert read(small).info["loop"] == 0
        assert b"diary" not in small.content

    def test_too_wide_animated_gif_is_refused_with_a_sentence(self):
        file = io.BytesIO()
        frames = [Image.new("RGB", (1300, 20), colour) for colour in ("red", "green")]
        frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])

        with pytest.raises(UnusableImageError, match=r"the limit is 1,200 pixels .* has 1,300"):
            resize_image(file.getvalue())

    def test_a_gif_with_too_many_frames_is_refused_undecoded(self):
        screen = b"GIF89a" + bytes([10, 0, 10, 0, 0, 0, 0])
        # A decoder would fail at this frame, because its pixel data is invalid.
        frame = b"," + bytes([0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 1, 255, 0])

        most = resize_image(screen + frame * 500 + b";")

        assert most.content == screen + frame * 500 + b";"
        with pytest.raises(UnusableImageError, match="has 501 frames; the limit is 500"):
            resize_image(screen + frame * 501 + b";")

    @pytest.mark.parametrize(
        ("kind", "size", "how", "refusal"),
        [
            ("PNG", (5_000, 3_001), {}, "15.1 megapixels; the limit is 15"),
            ("WEBP", (4_000, 2_001), {}, "8.1 megapixels; the limit is 8"),
            ("JPEG", (10_000, 5_001), {}, "50.1 megapixels; the limit is 50"),
            ("JPEG", (5_000, 3_001), {"progressive": True}, "15.1 megapixels; the limit is 15"),
            ("JPEG", (2_300, 7_000), {}, "16.1 megapixels; the limit is 15"),
            ("PNG", (100, 8_001), {}, "8,001 pixels tall at a width of 100; the limit is 8,000"),
        ],
    )
    def test_too_many_pixels_are_refused_before_decoding(self, kind, size, how, refusal):
        file = picture(kind, size, "RGB", **how)
        if kind != "WEBP":
            file = file[:-100]  # a decoder would report that the file is damaged

        with pytest.raises(UnusableImageError, match=refusal):
            resize_image(file)

    def test_a_file_that_is_not_an_image_is_refused(self):
        universe = bytearray(picture())
        universe[16:24] = b"\x7f\xff\xff\xff\x7f\xff\xff\xff"
        svg = b"<svg xmlns='x'><script/></svg>"
        for file in (b"", b"not at all", svg, picture("BMP"), picture("TIFF"), bytes(universe)):
            with pytest.raises(UnusableImageError):
                resize_image(file)

    def test_truncated_image_is_refused_with_a_sentence(self):
        file = io.BytesIO()
        noise((200, 200)).save(file, "JPEG")

        with pytest.raises(UnusableImageError, match="damaged or incomplete"):
            resize_image(file.getvalue()[:5000])


@pytest.mark.django_db(transaction=True)
class TestKeptAndShown:
    def test_script_gets_the_markup_of_the_image(self, window):
        scripted = json.loads(upload(window, picture(), alt="Swifts [two]").content)

        kept = UploadedImage.objects.get()
        assert scripted["address"] == f"/pictures/{kept.pk}.png"
        assert scripted["markdown"] == f"![Swifts \\[two\\]](/pictures/{kept.pk}.png)"
        assert scripted["html"] == (
            f'<img src="/pictures/{kept.pk}.png" alt="Swifts [two]" width="40" height="30">'
        )
        assert kept.name == "swifts.png"

    def test_the_same_file_is_the_same_image(self, window):
        first, again = (upload(window, picture(), name=name) for name in ("a.png", "b.png"))

        assert json.loads(first.content)["address"] == json.loads(again.content)["address"]
        assert UploadedImage.objects.count() == 1

    def test_an_image_is_public_and_cannot_run_scripts(self, window):
        address = json.loads(upload(window, picture()).content)["address"]
        shown = WindowOf(None).get(address).answer

        assert Image.open(io.BytesIO(shown.content)).size == (40, 30)
        assert shown["Content-Type"] == "image/png"
        assert shown["Cache-Control"] == "public, max-age=31536000, immutable"
        assert shown["X-Content-Type-Options"] == "nosniff"
        assert shown["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert not shown.cookies

    def test_a_browser_with_a_cached_image_gets_304(self, window):
        address = json.loads(upload(window, picture()).content)["address"]
        tag = window.get(address).answer["ETag"]
        assert window.get(address.replace(".png", ".svg")).status == 404

        again = window.client.get(address, secure=True, headers={"If-None-Match": tag})

        assert (again.status_code, again.content) == (304, b"")

    def test_without_scripts_the_page_shows_markdown_to_copy(self, window):
        answer = upload(window, picture(), alt="Swifts", script=False)
        assert answer.status_code == 303

        page = window.get(answer["Location"])

        assert f"![Swifts](/pictures/{UploadedImage.objects.get().pk}.png)" in page.words

    @pytest.mark.parametrize("script", [True, False])
    def test_an_unusable_image_is_refused_with_a_sentence(self, window, script):
        answer = upload(window, b"no picture", script=script)

        assert answer.status_code == 400
        assert not UploadedImage.objects.exists()

    def test_uploads_per_hour_are_limited(self, window, new_author, settings):
        settings.PICTURES_PER_HOUR = 2
        for width in (40, 41):
            assert upload(window, picture(size=(width, 30))).status_code == 200

        scripted, page = (
            upload(window, picture(size=(42, 30)), script=way) for way in (True, False)
        )

        assert (scripted.status_code, page.status_code) == (429, 429)
        # An image that is already stored does not count for the limit. Another user has a separate
        # limit.
        assert upload(window, picture(size=(40, 30))).status_code == 200
        other = WindowOf(new_author("otto", "write_draft"))
        assert upload(other, picture(size=(42, 30))).status_code == 200
        UploadAttempts.objects.update(since=F("since") - timedelta(hours=1))
        assert upload(window, picture(size=(43, 30))).status_code == 200

    def test_uploads_that_fail_count_for_the_hour(self, window, settings):
        settings.PICTURES_PER_HOUR = 3
        for file in (b"no picture", picture(size=(100, 8_001)), bytes(11 * 1024 * 1024)):
            refused = upload(window, file)
            assert refused.status_code == 400
        assert "larger than 10 MB" in json.loads(refused.content)["sentence"]

        answer = upload(window, picture())

        assert answer.status_code == 429
        assert json.loads(answer.content)["sentence"] == (
            "You have reached the limit of 3 uploads an hour, including failed uploads "
            "(PICTURES_PER_HOUR). Wait an hour and choose this image again."
        )
        assert not UploadedImage.objects.exists()

    def test_an_image_waits_only_a_limited_time_for_others(self, window, monkeypatch):
        monkeypatch.setattr(store_image, "LONGEST_WAIT_S", 0.01)
        with store_image.MEMORY:
            answer = upload(window, picture())

        assert answer.status_code == 503
        assert "choose this one again" in json.loads(answer.content)["sentence"]
        assert upload(window, picture()).status_code == 200

    def test_two_images_in_one_upload_are_both_refused(self, new_author, transactional_db):
        window = WindowOf(new_author("wanda", "write_draft"))
        files = [SimpleUploadedFile(f"{n}.png", picture(size=(n, n))) for n in (20, 30)]
        refused = Page(window.client.post(UPLOAD, {"image": files}, secure=True))
        assert refused.status == 400
        assert not UploadedImage.objects.exists()
