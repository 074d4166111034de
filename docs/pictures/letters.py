"""One letter in three languages, for the pictures of the looks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter in Markdown, and the newsletter that it belongs to."""

    newsletter: str
    tagline: str
    title: str
    preview_text: str
    text: str


_LETTER = """\
![{alt}](/static/demo/swifts.png)

{hello} {{{{ name|{reader} }}}}{comma}

{first}[^1]

> {quote}

## {heading}

- {one}
- {two}

| {year} | {seen} |
|---|---:|
| 2025 | 14 |
| 2026 | 9 |

[{button}]({{{{ archive_url }}}}){{.button}}

[^1]: {note}
"""

LETTERS = {
    "en": Letter(
        "The Hedgerow Almanack",
        "A letter about what lives along the lane",
        "Swifts leave without saying goodbye",
        "They are gone between one evening and the next.",
        _LETTER.format(
            alt="Two swifts over a tiled roof at dusk",
            hello="Dear",
            reader="reader",
            comma=",",
            first="Nobody sees swifts leave. A day or two later, you notice that you have stopped "
            "looking up.",
            quote="Write down what was there. The blank lines will tell you the rest.",
            heading="What you need",
            one="a pencil",
            two="a window to the west",
            year="Year",
            seen="Swifts seen",
            button="Read earlier letters",
            note="The last ones were seen on the third of August.",
        ),
    ),
    "de": Letter(
        "Der Heckenalmanach",
        "Ein Brief über alles, was am Weg lebt",
        "Mauersegler gehen, ohne sich zu verabschieden",
        "Von einem Abend auf den anderen sind sie fort.",
        _LETTER.format(
            alt="Zwei Mauersegler über einem Ziegeldach in der Dämmerung",
            hello="Guten Tag",
            reader="zusammen",
            comma=",",
            first="Niemand sieht Mauersegler abreisen. Man merkt ein, zwei Tage später, dass man "
            "nicht mehr nach oben schaut.",
            quote="Schreib auf, was da war. Den Rest erzählen die leeren Zeilen.",
            heading="Was du brauchst",
            one="einen Bleistift",
            two="ein Fenster nach Westen",
            year="Jahr",
            seen="Gesehene Mauersegler",
            button="Frühere Briefe lesen",
            note="Die letzten waren am dritten August zu sehen.",
        ),
    ),
    "ar": Letter(
        "تقويم السياج",
        "رسالة عن كل ما يعيش على جانبي الطريق",
        "السمامة ترحل دون وداع",
        "بين مساء وآخر تختفي كلها.",
        _LETTER.format(
            alt="طائرا سمامة فوق سطح من القرميد عند الغروب",
            hello="مرحبًا",
            reader="بك",
            comma="،",
            first="لا أحد يرى السمامة وهي ترحل. بعد يوم أو يومين تلاحظ أنك لم تعد تنظر إلى السماء.",
            quote="اكتب ما كان هناك، والسطور الفارغة تخبرك بالباقي.",
            heading="ما تحتاج إليه",
            one="قلم رصاص",
            two="نافذة تطل على الغرب",
            year="السنة",
            seen="عدد طيور السمامة",
            button="اقرأ الرسائل السابقة",
            note="شوهدت آخر مرة في الثالث من أغسطس.",
        ),
    ),
}
