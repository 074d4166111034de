"""How much CPU time does the check sheet of a hostile letter take?

Each checked letter has 1,000,000 characters. The letter repeats a piece that is hard for a parser,
or it is a real letter made longer. The full check runs as on the page: Homing composes the mail,
makes the plain text and checks both. The result is the time of the slowest kind of letter. A letter
with a quarter of the length is checked in alternation with the full letter. The full letter may
take at most six times as long as the short one. The measure is CPU time, because other programs
disturb it less.
"""

import json
import tempfile
import time
import uuid
from pathlib import Path

from benchmarks.frame import Measured, Options, RowResult, at_most, ratio, say, shown
from benchmarks.letter import letter
from benchmarks.site.site import a_site
from benchmarks.site.within_site import begin, within

LONGEST, SHARE = 1_000_000, 4
# The pieces that the letters repeat, by kind. In each repetition, `#` becomes a different number.
KINDS = (
    "<", "&#", '<a b="', "<!--", "<b><i></b>", "<h1>x</h1>", "<blockquote><p>x",
    "<table><tr><td>x", '<a href="https://x.org/#">x</a>', '<img src="x#">', "{{ f# }}",
    "<style>a{color:red}</style>",
)  # fmt: skip


def measure(options: Options) -> RowResult:
    """Measure the slowest kind of letter, and how its time grows with the length."""
    length = options.size(LONGEST, 40_000)
    letters = [made(kind, size) for size in (length // SHARE, length) for kind in (*KINDS, "")]
    runs = []
    with a_site() as site, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "letters.json"
        file.write_text(json.dumps(letters))
        for number in range(1, options.rounds + 1):
            runs.append(within(site, check_seconds, str(file)))
            say(f"  round {number}: the worst kind: {shown(max(runs[-1]), 's')}")
    kinds = len(KINDS) + 1
    quarter, full = (
        [
            Measured(name, "s", tuple(run[at + part] for run in runs))
            for at, name in enumerate(names)
        ]
        for part, names in ((0, ("",) * kinds), (kinds, (*KINDS, "a letter of paragraphs")))
    )
    worst = max(range(kinds), key=lambda at: full[at].median)
    return RowResult(
        f"check sheet of {length:,} characters",
        (
            at_most(
                f"hostile, the worst kind ({full[worst].name}): at most 2 s of CPU", full[worst], 2
            ),
            at_most(
                f"{SHARE} × as long: at most 6 × the time",
                ratio("full : quarter", full[worst], quarter[worst]),
                6,
            ),
        ),
        (*(one for at, one in enumerate(full) if at != worst),),
    )


def made(kind: str, length: int) -> str:
    """Build a letter of about this length; without a kind it consists of paragraphs."""
    if not kind:
        return letter(length)
    count = length // len(kind)
    if "#" not in kind or kind == "&#":
        return kind * count
    return "".join(kind.replace("#", str(number)) for number in range(count))[:length]


def check_seconds(file: str) -> list[float]:
    """Check the letters of a file as the page does; return the CPU seconds of each."""
    begin()
    from django.contrib.auth import get_user_model

    from publishing.models import Draft
    from publishing.preflight.check_draft import check

    author = get_user_model().objects.create_user(f"author-{uuid.uuid4()}", password=None)

    def seconds(letter: str) -> float:
        draft = Draft.objects.create(
            title="Swifts", letter=letter, format=Draft.Format.HTML, created_by=author
        )
        began = time.process_time()
        checked = check(draft, author.pk)
        took_s = time.process_time() - began
        assert checked.context.content.html, "an empty letter was checked"
        return took_s

    seconds("<p>Warming up.</p>")
    return [seconds(letter) for letter in json.loads(Path(file).read_text())]
