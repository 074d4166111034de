"""
The characters that XML can hold, and a feed with it; the only place that takes the others out.

They come from word processors and terminals, and nobody sees them. One of them in one letter would
end the feed for every reader of it.
"""

from __future__ import annotations

import re

# XML 1.0 (fifth edition), section 2.2, production Char; everything else is illegal.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# A vertical tab is a word processor's line break, a form feed its page break: gone without a
# trace, they would leave two words as one.
_BREAKS = re.compile("[\x0b\x0c]")


def only_xml_characters(text: str) -> str:
    """`text` without what XML cannot hold; old signs for a break become line ends."""
    return _ILLEGAL.sub("", _BREAKS.sub("\n", text))
