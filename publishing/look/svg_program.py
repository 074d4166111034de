"""Draw an SVG as PNG with limited memory and time; draw_svg.py runs this program."""

import resource
import sys

CPU_S, MEMORY = 2, 160 * 1024 * 1024


def draw(svg: str, width: int, height: int) -> bytes:
    """Draw an SVG as PNG, as large as fits into `width` and `height`."""
    import resvg_py

    drawn: bytes = resvg_py.svg_to_bytes(svg_string=svg, width=width, skip_system_fonts=True)
    _, tall = size_of(drawn)
    if tall > height:
        drawn = resvg_py.svg_to_bytes(svg_string=svg, height=height, skip_system_fonts=True)
    return drawn


def size_of(png: bytes) -> tuple[int, int]:
    """Read width and height from the header of a PNG."""
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])


def give_up_rights() -> None:
    """Limit time and memory. After this call, this process cannot open or write files."""
    import resvg_py  # noqa: F401 -- its files cannot be opened later

    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # The pipes to the parent process are open already. Images, fonts and sockets would need
    # further file descriptors, which this limit forbids.
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


if __name__ == "__main__":
    give_up_rights()
    source = sys.stdin.buffer.read().decode()
    sys.stdout.buffer.write(draw(source, int(sys.argv[1]), int(sys.argv[2])))
