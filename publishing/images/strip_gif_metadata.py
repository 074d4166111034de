"""Strip comments and application data from an animated GIF."""

# These sizes and codes of blocks are from the specification GIF89a, sections 15 to 27.
_SCREEN = 13
_EXTENSION, _IMAGE, _END = 0x21, 0x2C, 0x3B
_CONTROL, _APPLICATION = 0xF9, 0xFF
# These application blocks are kept: they say how often the animation repeats.
_REPEATS = (b"NETSCAPE2.0", b"ANIMEXTS1.0")


def strip_gif_metadata(gif: bytes) -> tuple[bytes, int]:
    """Return the animation without metadata, and its number of frames.

    Raises `ValueError` or `IndexError` if the file is incomplete.
    """
    at = _SCREEN + _table_length(gif[10])
    # One buffer needs less memory than a list of millions of small blocks.
    kept, frames = bytearray(gif[:at]), 0
    while gif[at] != _END:
        start = at
        if gif[at] == _EXTENSION:
            label, at = gif[at + 1], _skip_blocks(gif, at + 2)
            is_shown = label == _CONTROL or (
                label == _APPLICATION and gif[start + 3 : start + 14] in _REPEATS
            )
        elif gif[at] == _IMAGE:
            at = _skip_blocks(gif, at + 10 + _table_length(gif[at + 9]) + 1)
            is_shown = True
            frames += 1
        else:
            raise ValueError("The GIF is damaged.")
        if is_shown:
            kept += gif[start:at]
    kept.append(_END)
    return bytes(kept), frames


def _table_length(flags: int) -> int:
    return 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0


def _skip_blocks(gif: bytes, at: int) -> int:
    while gif[at]:
        at += gif[at] + 1
    return at + 1
