"""The letter that every measurement sends: 2 kB of HTML after merging.

The letter is a whole HTML document, which Homing sends unchanged. If the letter were only a
fragment, Homing would add a frame and inline styles, and 2 kB of paragraphs would become 8 kB.
"""

HOST = "letter.example.org"
SENDER = f"Homing <letter@{HOST}>"
TITLE = "Swifts"
NAME = "{{ name|reader }}"
LINK = "{{ unsubscribe_url }}"


def letter(html_bytes: int) -> str:
    """Return a letter of about `html_bytes` bytes that names its reader."""
    head = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title></head>'
        f"<body><h1>{TITLE}</h1><p>Dear {NAME}, the swifts have gone.</p>"
    )
    foot = f'<p><a href="{LINK}">Unsubscribe</a></p></body></html>'
    sentence = "<p>Nobody saw them.</p>"
    # A link is about fifty characters longer than its merge field.
    rest = html_bytes - len(head) - len(foot) - 50
    return head + sentence * max(0, round(rest / len(sentence))) + foot


LETTER = letter(2_000)
