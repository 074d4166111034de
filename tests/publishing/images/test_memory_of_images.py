"""Even the largest images that are accepted take little memory."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from PIL import Image

from benchmarks.hostile_files import IMAGES
from publishing.images.resize_image import UnusableImageError, resize_image

pytestmark = pytest.mark.process

MOST_BYTES = 150 * 1024 * 1024
DECODE = """
import django, io, pathlib, sys
django.setup()
from PIL import Image
from publishing.images.resize_image import resize_image
def peak():  # the greatest of the usage counts that of the process before it became this one
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
file = pathlib.Path(sys.argv[1]).read_bytes()
small = io.BytesIO()
Image.new("RGB", (9, 9)).save(small, "PNG")
resize_image(small.getvalue())
before = peak()
resize_image(file)
print(peak() - before)
"""


@pytest.mark.parametrize(
    ("kind", "mode", "size", "how"),
    [
        ("PNG", "RGBA", (5_120, 2_880), {}),
        ("PNG", "RGBA", (1_200, 8_000), {}),
        ("PNG", "RGBA", (1_501, 9_990), {}),
        ("PNG", "LA", (5_120, 2_880), {}),
        ("PNG", "P", (3_870, 3_870), {"transparency": bytes(range(256))}),
        ("WEBP", "RGBA", (4_000, 1_990), {"quality": 40}),
        ("JPEG", "RGB", (8_000, 6_000), {"quality": 30}),
        ("JPEG", "CMYK", (5_120, 2_880), {"quality": 60, "progressive": True}),
    ],
)
def test_largest_accepted_image_stays_within_its_memory(kind, mode, size, how, tmp_path: Path):
    file = io.BytesIO()
    Image.effect_noise((200, 200), 30).resize(size).convert(mode).save(file, kind, **how)

    assert _memory_of(file.getvalue(), tmp_path / "picture") <= MOST_BYTES


def test_a_progressive_jpeg_disguised_as_baseline_is_refused() -> None:
    file = io.BytesIO()
    Image.linear_gradient("L").resize((5_120, 3_000)).save(file, "JPEG", progressive=True)
    # The comment contains a fake frame and scan. If code mistakes the fill byte for a marker, it
    # reads these, and does not notice that the JPEG is progressive.
    frame = b"\xff\xc0\x00\x0b\x08" + bytes(4) + b"\x01\x01\x11\x00" + b"\xff\xda\x00\x08\x01"
    comment = bytes(0xEFF0 - 3) + frame + bytes(100)
    head = b"\xff\xd8\xff\xff\xef\xf0\xf0" + comment.ljust(0xF0F0 - 2, b"\0")

    with pytest.raises(UnusableImageError, match="megapixels"):
        resize_image(head + file.getvalue()[2:])


@pytest.mark.parametrize(
    "kind", ["JPEG of comments", "JPEG of empty data", "PNG of international texts"]
)
def test_an_image_of_a_million_empty_parts_is_refused(kind: str) -> None:
    with pytest.raises(UnusableImageError, match="damaged"):
        resize_image(IMAGES[kind]())


def _memory_of(file: bytes, path: Path) -> int:
    path.write_bytes(file)
    done = subprocess.run(
        [sys.executable, "-c", DECODE, str(path)],
        cwd=settings.BASE_DIR, capture_output=True, text=True, check=True,
        env={"DJANGO_SETTINGS_MODULE": "tests.settings"},
    )  # fmt: skip
    return int(done.stdout)
