"""
The letter that every measurement sends: HTML of 2 kB once it is filled in.

It is a whole document, which is kept as it is. What an author writes without one gets a frame and
its dress, and is several times as long by then: 2 kB of paragraphs are 8 kB in the mail.
"""

HOST = "letter.example.org"
SENDER = f"Homing <letter@{HOST}>"
TITLE = "Swifts"
NAME = "{{ name|reader }}"
LINK = "{{ unsubscribe_url }}"


def letter(html_bytes: int) -> str:
    """One that is about as long as that once it is filled in, and calls its reader by name."""
    head = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title></head>'
        f"<body><h1>{TITLE}</h1><p>Dear {NAME}, the swifts have gone.</p>"
    )
    foot = f'<p><a href="{LINK}">Unsubscribe</a></p></body></html>'
    sentence = "<p>Nobody saw them.</p>"
    # A link is about fifty characters longer than the field that stands for it.
    rest = html_bytes - len(head) - len(foot) - 50
    return head + sentence * max(0, round(rest / len(sentence))) + foot


LETTER = letter(2_000)
