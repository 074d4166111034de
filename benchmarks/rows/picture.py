"""How much memory does the largest accepted image take?

For each file type, the image with the most pixels is prepared for mail in a new process. The figure
is the increase of peak resident memory (VmHWM) after a small image has loaded the libraries.
"""

import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks.frame import Measured, Options, RowResult, Target, run_alone, say, shown
from benchmarks.site.site import a_site
from benchmarks.site.within_site import within

KINDS: dict[str, tuple[str, str, tuple[int, int], dict[str, Any]]] = {
    "PNG, 15 megapixels": ("PNG", "RGBA", (5_120, 2_880), {}),
    "PNG, 8,000 pixels tall": ("PNG", "RGBA", (1_200, 8_000), {}),
    "WebP, 8 megapixels": ("WEBP", "RGBA", (4_000, 1_990), {"quality": 40}),
    "JPEG, 48 megapixels": ("JPEG", "RGB", (8_000, 6_000), {"quality": 30}),
    "progressive JPEG in CMYK, 15 megapixels": (
        "JPEG", "CMYK", (5_120, 2_880), {"quality": 60, "progressive": True},
    ),
}  # fmt: skip


def measure(options: Options) -> RowResult:
    """Measure the peak of each kind, in MB of 1,000,000 bytes, and the largest."""
    peaks: dict[str, list[float]] = {name: [] for name in KINDS}
    with a_site() as site, tempfile.TemporaryDirectory() as folder:
        for name, (kind, mode, size, how) in KINDS.items():
            file = Path(folder) / name
            noise = Image.effect_noise((200, 200), 30).resize(size).convert(mode)
            noise.save(file, kind, **how)
            for number in range(1, options.rounds + 1):
                took = within(site, "benchmarks.programs.decode_image", str(file))
                peaks[name].append(took / 1e6)
                say(f"  round {number}: {name}: {shown(took / 1e6, 'MB')}")
    figures = [Measured(name, "MB", tuple(each)) for name, each in peaks.items()]
    most = Measured(
        "the largest", "MB", tuple(max(each) for each in zip(*peaks.values(), strict=True))
    )
    return RowResult(
        "an image of the largest accepted size",
        (Target("at most 150 MB of additional memory", most, 150, at_most=True),),
        tuple(figures),
    )


if __name__ == "__main__":
    run_alone(measure)
