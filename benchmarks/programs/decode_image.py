"""
One picture made fit for mail: `python -m benchmarks.programs.decode_image FILE`, within a site.

Tells how many bytes more were resident at the peak than after a small picture.
"""

import io
import sys
from pathlib import Path

from benchmarks.site.within_site import begin, tell


def main() -> None:
    """Make a small picture fit for mail, and then the one in the file."""
    begin()
    from PIL import Image

    from publishing.images.resize_image import resize_image

    file = Path(sys.argv[1]).read_bytes()
    small = io.BytesIO()
    Image.new("RGB", (9, 9)).save(small, "PNG")
    resize_image(small.getvalue())
    before = peak()
    resize_image(file)
    tell(peak() - before)


def peak() -> int:
    """The most bytes that were ever resident of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main()
