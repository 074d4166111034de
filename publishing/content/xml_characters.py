"""Remove the characters that XML cannot hold: one of them would break the feed."""

import re

# XML 1.0 (fifth edition), section 2.2, production Char; everything else is illegal.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# A word processor's line break and page break: removing them would join two words.
_BREAKS = re.compile("[\x0b\x0c]")


def only_xml_characters(text: str) -> str:
    """Return `text` without what XML cannot hold; vertical tabs and form feeds become newlines."""
    return _ILLEGAL.sub("", _BREAKS.sub("\n", text))
