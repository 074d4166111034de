"""Prepare one image for mail and measure its memory, within a site.

Run `python -m benchmarks.programs.decode_image FILE`. It prints the additional bytes of peak
resident memory, compared with a small image.
"""

import io
import sys
from pathlib import Path

from benchmarks.site.within_site import begin, print_result


def main() -> None:
    """Prepare a small image for mail, then the one in the file."""
    begin()
    from PIL import Image

    from publishing.images.resize_image import resize_image

    file = Path(sys.argv[1]).read_bytes()
    small = io.BytesIO()
    Image.new("RGB", (9, 9)).save(small, "PNG")
    resize_image(small.getvalue())
    before = peak()
    resize_image(file)
    print_result(peak() - before)


def peak() -> int:
    """Return the peak resident memory of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main()
