"""The newsletter in the screenshots: its name, its past issues and the draft."""

from __future__ import annotations

from dataclasses import dataclass

NEWSLETTER = {
    "name": "The Hedgerow Almanack",
    "tagline": "A letter about what lives along the lane, every Thursday",
    "postal_address": "The Old Tannery, Weir Lane, Nether Wick",
    "time_zone": "Europe/Lisbon",
    "reply_to": "letter@almanack.example",
}
SENDER = '"Edith Marlow, The Hedgerow Almanack" <letter@almanack.example>'
AUTHOR = ("Edith", "Marlow")


@dataclass(frozen=True, slots=True)
class PastIssue:
    """An issue that was sent `days` ago to the first `readers` rows of the file."""

    title: str
    days: int
    readers: int
    words: str


PAST = (
    PastIssue("Seven uses for a lantern", 49, 3_420, "A lantern is a small house for a fire."),
    PastIssue("A rain gauge’s diary", 42, 3_610, "Monday, nothing. Tuesday, nothing to speak of."),
    PastIssue("What the well said", 35, 3_700, "You can hear the level of the water, if you hum."),
    PastIssue("On the patience of herons", 28, 3_950, "A heron has one idea and all day for it."),
    PastIssue("The late apples", 21, 4_060, "Some apples are eaten in March or not at all."),
    PastIssue("A storm, and what it took", 14, 4_310, "It took the ash, and a shed with opinions."),
    PastIssue("Notes from a wet orchard", 7, 4_520, "Wet grass tells you who was here before you."),
)
READERS_NOW = 4_760
TOPICS = {
    "The garden": "What to sow, what to pick, and what got there first.",
    "The lane": "Birds, hedges and weather, as they happen.",
    "The village hall": "Dates of talks and walks, once a month.",
}

TITLE = "Swifts leave without saying goodbye"
PREVIEW_TEXT = "They are gone between one evening and the next."
LETTER = """\
Dear {{ name|reader }},

For eleven weeks the sky above the tannery roof belonged to somebody else. They came on the ninth \
of May, nine of them and then fourteen, screaming round the chimney at supper time as if it were a \
racecourse. On the third of August they went, between one evening and the next, and left nothing \
on the step, not even a feather.

Nobody sees swifts leave. What you see, a day or two later, is that you have stopped looking up.

![Two swifts over a tiled roof at dusk](/static/demo/swifts.png)

## How to notice an absence

A departure makes no sound, so it has to be written down by other means. The people who kept \
weather books in this valley had a habit that I have taken from them: every evening they wrote the \
last thing they *did* see, as if it might be the last of the year. Swifts, fourteen, high, going \
west. One line, no remarks.

> Write down what was there. The blank lines will tell you the rest.

| Year | First seen | Last seen | Weeks |
|---|---|---|---:|
| 2023 | 7 May | 1 August | 12 |
| 2024 | 11 May | 30 July | 11 |
| 2025 | 9 May | 3 August | 12 |

That is the whole method. It costs a pencil. [All earlier letters]({{ archive_url }}) are in the \
archive.
"""
SECOND_DRAFT = ("A moth at the lamp", "It came at ten, and it came for the lamp and not for us.")
FIELDS = (("town", "Town", "your town"), ("garden", "Garden", "your garden"))
WELCOME = (
    "Welcome to the lane, {{ name|reader }}",
    "Dear {{ name|reader }}, you will hear from me on Thursday.",
)
# Readers in the form of a Beehiiv export.
ELSEWHERE = (
    "email,status,created_at,tier,unsubscribed_at,tags,Home town\n"
    "alma.weir@orchard.example.org,active,2021-03-04T08:30:00Z,free,,Friends,Nether Wick\n"
    "bede.lock@orchard.example.org,active,2022-06-12T17:05:00Z,free,,,Weir\n"
    "cora.mill@orchard.example.org,inactive,2020-11-20T12:00:00Z,free,2023-01-09T07:45:00Z,,Weir\n"
    "dov.barge@orchard.example.org,pending,2023-02-02T19:20:00Z,free,,Friends,\n"
)
