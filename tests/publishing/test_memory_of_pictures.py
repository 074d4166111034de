"""The largest pictures that are accepted take little memory."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from PIL import Image

pytestmark = pytest.mark.process

MOST_BYTES = 150 * 1024 * 1024
DECODE = """
import django, io, pathlib, sys
django.setup()
from PIL import Image
from publishing.small_picture import small_picture
def peak():  # the greatest of the usage counts that of the process before it became this one
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
file = pathlib.Path(sys.argv[1]).read_bytes()
small = io.BytesIO()
Image.new("RGB", (9, 9)).save(small, "PNG")
small_picture(small.getvalue())
before = peak()
small_picture(file)
print(peak() - before)
"""


@pytest.mark.parametrize(
    ("kind", "mode", "size", "how"),
    [
        ("PNG", "RGBA", (5_120, 2_880), {}),
        ("PNG", "RGBA", (1_200, 8_000), {}),
        ("WEBP", "RGBA", (4_000, 1_990), {"quality": 40}),
        ("JPEG", "RGB", (8_000, 6_000), {"quality": 30}),
        ("JPEG", "CMYK", (5_120, 2_880), {"quality": 60, "progressive": True}),
    ],
)
def test_the_largest_accepted_picture_keeps_to_its_memory(kind, mode, size, how, tmp_path: Path):
    file = io.BytesIO()
    Image.effect_noise((200, 200), 30).resize(size).convert(mode).save(file, kind, **how)
    path = tmp_path / "picture"
    path.write_bytes(file.getvalue())

    done = subprocess.run(
        [sys.executable, "-c", DECODE, str(path)],
        cwd=settings.BASE_DIR, capture_output=True, text=True, check=True,
        env={"DJANGO_SETTINGS_MODULE": "tests.settings"},
    )  # fmt: skip

    assert int(done.stdout) <= MOST_BYTES
