"""How long do the desk's pages take with a million readers and 500 issues?

One issue to all readers is being sent. The other issues have ended. SQL makes the ended issues: it
copies the row of the first issue and its entry in the activity log, and adds finished batches that
are rolled up. A user opens the desk, the readers' list, two searches in it and the progress page,
through the site's own WSGI application. Each figure is the time of a whole answer with all
middleware. For the updates of an open progress page, however, the figure is the time in the view,
as in the row `progress`. Each answer must contain an expected text. CPU time does not include the
database.
"""

import re
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.frame import Measured, Options, RowResult, at_most
from benchmarks.rows.progress import timed_view
from benchmarks.site.browser import MANAGERS, InProcess, Page, sessions_of
from benchmarks.site.site import Site, a_site
from benchmarks.site.within_site import begin, within

BATCH = 200
# The new rows are copies of rows that publishing wrote, so that every column has a value.
ISSUES = """
    INSERT INTO issue
    SELECT (jsonb_populate_record(issue, jsonb_build_object('id', gen_random_uuid(),
            'title', 'Letter ' || n, 'slug', 'letter-' || n))).*
    FROM issue, generate_series(2, %(issues)s) AS n WHERE issue.id = %(issue)s;
    INSERT INTO edition
    SELECT (jsonb_populate_record(edition, jsonb_build_object('id', edition.id + n,
            'issue_id', issue.id, 'idempotency_key', 'letter-' || n, 'title', issue.title,
            'published_at', published_at - n * interval '1 day'))).*
    FROM edition, generate_series(2, %(issues)s) AS n JOIN issue ON issue.slug = 'letter-' || n
    WHERE edition.issue_id = %(issue)s;
    INSERT INTO batch (id, edition_id, position, state, size, waiting, sent, rolled_up)
    SELECT edition.id << 20 | number, edition.id, 0, 'done', %(batch)s, 0, %(batch)s, true
    FROM edition JOIN issue ON issue.id = issue_id AND issue.slug LIKE 'letter-%%',
         generate_series(1, audience / %(batch)s) AS number;
    INSERT INTO batch_total (edition_id, size, sent, suppressed, withdrawn, failed, bounced,
                             complained)
    SELECT edition_id, sum(size), sum(sent), 0, 0, 0, 0, 0 FROM batch WHERE rolled_up
    GROUP BY edition_id;
    INSERT INTO django_admin_log (action_time, object_id, object_repr, action_flag, change_message,
                                  content_type_id, user_id)
    SELECT action_time, issue.id, issue.title, action_flag, change_message, content_type_id, user_id
    FROM django_admin_log, issue WHERE object_id = %(issue)s::text AND slug LIKE 'letter-%%';
    INSERT INTO draft (id, key, title, letter, format)
    SELECT gen_random_uuid(), 'draft-' || n, 'Draft ' || n, html_content, 'html'
    FROM edition, generate_series(1, 20) AS n WHERE issue_id = %(issue)s
"""
TABLES = "issue, edition, batch, batch_total, django_admin_log, draft, delivery"
BOUNDS_MS = {
    "the desk": 50.0,
    "the readers' list": 50.0,
    "a search that finds a reader": 50.0,
    "a search that finds nothing": 50.0,
    "news for an open progress page, in the view": 20.0,
}
OPENED = "opening the progress page"
WHOLE, ON_PROCESSOR, IN_VIEW = range(3)
WARMING_UP = 3
LISTED = re.compile(rb'id="listed" value="([^"]*)"')


def measure(options: Options) -> RowResult:
    """Measure the median time of an answer for each page."""
    readers, issues = options.size(1_000_000, 2_000), options.size(500, 30)
    times = options.size(40, 5)
    with a_site() as site:
        site.readers(readers)
        issue = with_issues(site, issues)
        (author,), (manager,) = sessions_of(site, 1), sessions_of(site, 1, MANAGERS)
        found, listed = readers // 2, "/admin/newsletters/readers/"
        progress = f"/admin/newsletters/{issue}/"
        opened = (
            (author, "/admin/newsletters/issues/", "Letter 5", False),
            (manager, listed, f"reader{readers}@", False),
            (manager, f"{listed}?q=der{found}", f"reader{found}@", False),
            (manager, f"{listed}?q=nobody-at-all", "nobody-at-all", False),
            (author, progress, f"{readers:,}", True),
            (author, progress, "reader20@", False),
        )
        asked = dict(zip((*BOUNDS_MS, OPENED), opened, strict=True))
        rounds = within(site, read_pages, asked, times, options.rounds)

    def median_of(name: str, part: int) -> tuple[float, ...]:
        return tuple(statistics.median(took[part] for took in each[name]) for each in rounds)

    return RowResult(
        f"pages with {readers:,} readers and {issues:,} issues",
        tuple(
            at_most(
                f"{name}: median at most {bound_ms:g} ms",
                Measured(name, "ms", median_of(name, IN_VIEW if "view" in name else WHOLE)),
                bound_ms,
            )
            for name, bound_ms in BOUNDS_MS.items()
        ),
        (
            Measured(OPENED, "ms", median_of(OPENED, WHOLE)),
            Measured(f"{OPENED}, in the view", "ms", median_of(OPENED, IN_VIEW)),
            *(
                Measured(f"CPU time: {name}", "ms", median_of(name, ON_PROCESSOR))
                for name in (*BOUNDS_MS, OPENED)
            ),
        ),
        (f"medians of {times} answers a round, in one process, without a socket",),
    )


def with_issues(site: Site, issues: int) -> str:
    """Publish an issue; add older issues until there are `issues`. Return the first."""
    issue = site.publish()
    with site.connect() as database, database.transaction():
        # turn off the checks of foreign keys
        database.execute("SET LOCAL session_replication_role = replica")
        for statement in ISSUES.split(";"):
            database.execute(statement, {"issue": issue, "issues": issues, "batch": BATCH})
    with site.connect() as database:
        database.execute(f"VACUUM (ANALYZE) {TABLES}")
    return issue


Times = dict[str, list[tuple[float, float, float]]]


def read_pages(asked: dict[str, Any], times: int, rounds: int) -> list[Times]:
    """Open every page `times` times a round, in one process.

    `asked` maps each page's name to the session, the path, a text that the page shows, and whether
    this is an update of an open page. For each round and page, return the milliseconds of the whole
    answers, their CPU time, and the time in the view of the progress page.
    """
    begin()
    in_view_s = timed_view("progress")
    from newsletter_site.wsgi import application

    def opener(session: str, path: str, *, asks: bool) -> Callable[[], Page]:
        browser = InProcess(application, session)
        listed = LISTED.search(browser.get(path).body) if asks else None
        if listed is None:
            return lambda: browser.get(path)
        return lambda: browser.poll(f"{path}?listed={listed[1].decode()}")

    pages = {
        name: (opener(session, path, asks=asks), text.encode())
        for name, (session, path, text, asks) in asked.items()
    }

    def read(open_page: Callable[[], Page], text: bytes) -> tuple[float, float, float]:
        in_view_s.clear()
        began_s = time.thread_time()
        page = open_page()
        on_processor_s = time.thread_time() - began_s
        assert page.status == 200, page
        assert text in page.body, f"{text!r} is missing"
        in_view = in_view_s.pop() if in_view_s else 0.0
        return 1000 * page.took_s, 1000 * on_processor_s, 1000 * in_view

    def read_all(number: int) -> Times:
        return {name: [read(*page) for _ in range(number)] for name, page in pages.items()}

    read_all(WARMING_UP)
    return [read_all(times) for _ in range(rounds)]
