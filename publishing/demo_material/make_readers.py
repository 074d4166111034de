"""
Writes readers.csv, the list of the demo: invented people, and the flaws of a real export.

Run `python publishing/demo_material/make_readers.py` after changing it; the seed is fixed, so the
file is the same every time. Every domain is reserved for examples (RFC 2606), so that no copy can
reach anybody. Three addresses at bounce.example are refused by the sandbox, as a real list always
holds some that a provider refuses.
"""

from __future__ import annotations

import csv
import random
import unicodedata
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

READERS = 5_060
AGAIN = 64  # rows with an address that stood further up, in other case or with blanks
BLANK_LINES = 24
SEED = 1789  # the year of the letter that the demo sends

# First names and family names by language, so that the pairs are plausible.
PEOPLE = {
    "English": (
        (
            "Ada Alice Arthur Beatrice Clara Daniel Edith Edmund Florence George Harriet Henry Ivy "
            "James Laura Martin Nora Oliver Rose Samuel Thomas Violet Walter William"
        ),
        (
            "Ashdown Barrow Carter Fletcher Gale Hartley Ingram Kestrel Lock Marlow Naylor O'Neill "
            "Pennant Rook Sedge Thatcher Underhill Whitlock Wren Yarrow"
        ),
    ),
    "Portuguese": (
        "Afonso Beatriz Catarina Duarte Inês João Leonor Lídia Matilde Simão Tomás Vitória",
        "Almeida Conceição Falcão Gonçalves Magalhães Monção Pêra Ramos Simões Tavares",
    ),
    "German": (
        "Anneliese Björn Friederike Günther Jürgen Käthe Lotte Matthäus Sören Ulrike",
        "Bäcker Dürr Großmann Jäger König Müller Rößler Schäfer Vögele Weiß",
    ),
    "French": (
        "Aurélie Benoît Chloé Élise François Hélène Jérôme Léa Noël Zoé",
        "Bérard Châtelain d'Aubigné Delacroix Lefèvre Moreau Noël-Dumas Rivière Saint-Clair",
    ),
    "Polish": (
        "Agnieszka Bartłomiej Grażyna Łukasz Małgorzata Paweł Zofia Żaneta",
        "Dąbrowski Gołębiewska Kłos Łąkowy Świątek Wróbel Żuraw",
    ),
    "Nordic": (
        "Åse Bjørn Frøydis Håkon Ingrid Jón Kjærsti Þóra",
        "Ærøskøbing Bergström Guðmundsdóttir Hallström Nyström Sjöberg Ødegård",
    ),
    "Turkish": ("Ayşe Çağla Gökhan İpek Oğuz Şule", "Çelik Doğan Güneş Işık Öztürk Yıldız"),
    "Vietnamese": ("Anh Bảo Hương Linh Phượng Tuấn", "Đặng Hoàng Lê Nguyễn Trần"),
}
# Names in other scripts, each with what its owner writes in an address.
OTHER_SCRIPTS = (
    ("Юлия Соколова", "yuliya.sokolova"),
    ("Дмитрий Журавлёв", "d.zhuravlev"),
    ("Ελένη Παπαδοπούλου", "eleni.papadopoulou"),
    ("Νίκος Χελιδόνης", "nikos.chelidonis"),
    ("王小燕", "wang.xiaoyan"),
    ("陳志明", "chan.chiming"),
    ("佐藤つばめ", "tsubame.sato"),
    ("김제비", "jebi.kim"),
    ("ליאת סנונית", "liat.snunit"),
    ("ريم الخطاف", "reem.alkhattaf"),
    ("अनुपमा अबाबील", "anupama.ababeel"),
    ("สมชาย นกนางแอ่น", "somchai.n"),
    ("Արամ Ծիծեռնակյան", "aram.ts"),
    ("ნინო მერცხალი", "nino.mertskhali"),
)
DOMAINS = (
    "example.org",
    "example.com",
    "example.net",
    "mail.example.com",
    "posthouse.example.net",
    "orchard.example.org",
    "weir.example.com",
    "tannery-lane.example.org",
    "mill.example.net",
    "university.example.org",
    "staff.library.example.org",
    "almanack.example.com",
    "Rookery.Example.ORG",
    "xn--mhle-0ra.example.net",
    "müllerei.example.org",
)
# Letters that do not fall apart into a plain letter and a mark.
PLAIN_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "Ae", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D"}
    | {"ı": "i", "þ": "th", "Þ": "Th", "ð": "d", "'": "", " ": ""}
)
REFUSED_BY_THE_SANDBOX = (
    ("invalid+gatehouse@bounce.example", "Percival Gatehouse"),
    ("inactive+weir@bounce.example", "Dorothea Weir"),
    ("inactive+lock@bounce.example", "Ambrose Lock"),
)
LONG_NAMES = (
    (
        "The Ladies and Gentlemen of the Nether Wick Society for the Observation of Swifts, "
        "Swallows, House-Martins and All Other Birds of Passage, in the Care of "
        "Miss Euphemia Ashdown, Secretary"
    ),
    (
        "Dom Sebastião Afonso Maria João Baptista Francisco de Assis Xavier de Paula António "
        "Leopoldo Miguel Rafael Gabriel Gonzaga de Magalhães Tavares e Conceição, "
        "Conde de Monção e de Pêra"
    ),
    "Reading Room of the Parish of St Mary at the Weir",
)
BAD_ROWS = (
    ("paul@@orchard.example.org", "Paul Barrow"),
    ("see overleaf", "Agnes Rook"),
    ("rosa@orchard", "Rosa Ramos"),
    ("jo.green@example..org", "Jo Green"),
    ("marta.simoes@weir.example.com.", "Marta Simões"),
    ("ines almeida@example.org", "Inês Almeida"),
    ("tom@mill.example.net; tom@example.com", "Tom Naylor"),
    ("has no mail, writes by post", "Old Mr Pennant"),
    ("hélène@example.org", "Hélène Moreau"),
    ("greta@lock_house.example.org", "Greta Jäger"),
    ("who?@example.org", "Somebody at the fair"),
    ("@example.org", ""),
    ("karl.example.org", "Karl Dürr"),
    ("lena@printing.test", "Lena König"),
    ("ada.w at example.com", "Ada Whitlock"),
    ('=HYPERLINK("mailto:x@example.org")', "Pasted from a spreadsheet"),
    ("choir@example.net", "The Choir, of whom these sing: " + "la " * 90),
)


def main() -> None:
    """Write the file beside this one, as a spreadsheet exports it: with BOM and CRLF."""
    dice = random.Random(SEED)
    rows: list[list[str]] = [with_date(row, dice) for row in readers(dice)]
    for row in BAD_ROWS:
        rows.insert(dice.randrange(len(rows)), with_date(row, dice))
    for place in sorted(dice.sample(range(500, len(rows)), AGAIN)):
        rows.insert(place, the_same_again(rows[dice.randrange(400)], dice))
    for place in dice.sample(range(100, len(rows)), BLANK_LINES):
        rows.insert(place, dice.choice(([], [""], ["", "", ""], ["  ", "", ""])))
    path = Path(__file__).with_name("readers.csv")
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("Email", "Name", "Joined"))
        writer.writerows(rows)


def readers(dice: random.Random) -> Iterator[tuple[str, str]]:
    """Address and name of as many different readers as wanted."""
    yield "edith.marlow@posthouse.example.net", "Edith Marlow"
    for number, name in enumerate(LONG_NAMES, 1):
        yield f"society{number}@example.org", name
    yield from REFUSED_BY_THE_SANDBOX
    seen: set[str] = set()
    while len(seen) < READERS - 1 - len(LONG_NAMES) - len(REFUSED_BY_THE_SANDBOX):
        name, local_part = somebody(dice)
        domain = dice.choice(DOMAINS)
        email = f"{local_part}@{domain}"
        if email.lower() not in seen:
            seen.add(email.lower())
            yield email, as_people_write_names(name, dice)


def somebody(dice: random.Random) -> tuple[str, str]:
    """An invented name and the part of their address before the @-sign."""
    if dice.random() < 0.03:
        name, local_part = dice.choice(OTHER_SCRIPTS)
        return name, f"{local_part}{dice.randrange(1, 100)}"
    firsts, families = (names.split() for names in PEOPLE[dice.choice(tuple(PEOPLE))])
    first, family = dice.choice(firsts), dice.choice(families)
    plain_first, plain_family = in_plain_letters(first), in_plain_letters(family)
    year = dice.randrange(1940, 2009)
    local_part = dice.choice(
        (
            f"{plain_first}.{plain_family}".lower(),
            f"{plain_first[0]}.{plain_family}{year % 100:02}".lower(),
            f"{plain_family}_{plain_first}".lower(),
            f"{plain_first}{year}".lower(),
            f"{plain_first}.{plain_family}+letters".lower(),
            f"{plain_first}.{plain_family}",
            f"{plain_first}{plain_family}{year % 100:02}",
        )
    )
    return f"{first} {family}", local_part


def as_people_write_names(name: str, dice: random.Random) -> str:
    """The name as it stands in somebody's list: turned round, titled, missing, in pieces."""
    first, _, family = name.partition(" ")
    chance = dice.random()
    if chance < 0.06:
        return ""
    if chance < 0.14:
        return f"{family}, {first}"
    if chance < 0.17:
        return f'{first} "{first[:3]}" {family}'
    if chance < 0.19:
        return f"  {name} "
    if chance < 0.20:
        return f"{first}\n{family}"
    if chance < 0.23:
        return name.upper()
    return name


def in_plain_letters(name: str) -> str:
    """The name in the letters of an address."""
    apart = unicodedata.normalize("NFD", name.translate(PLAIN_LETTERS))
    return apart.encode("ascii", "ignore").decode()


def the_same_again(row: list[str], dice: random.Random) -> list[str]:
    """The same reader once more, written differently."""
    email = row[0] if row and row[0].count("@") == 1 else "edith.marlow@posthouse.example.net"
    written = dice.choice((email.upper(), email.title(), f" {email}", f"{email}  ", email))
    return [written, *row[1:]]


def with_date(row: tuple[str, str], dice: random.Random) -> list[str]:
    """The row with the day on which they joined, a column that the import has no use for."""
    joined = date(2019, 1, 1) + timedelta(days=dice.randrange(2_500))
    return [*row, joined.isoformat()]


if __name__ == "__main__":
    main()
