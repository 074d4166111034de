"""The steps of the demo, from an empty folder to delivered mail."""

import time
from contextlib import suppress

import requests
from django.conf import settings

from delivery.interface import edition_control
from delivery.models import Delivery, Edition
from delivery.reports.audit import find_violations
from delivery.rules.delivery_key import DeliveryKey
from delivery.rules.edition_state import EditionState
from newsletter_site.demo.child_processes import Children
from newsletter_site.demo.demo_browser import FORM, Post, post_twice
from newsletter_site.demo.demo_summary import Observed, broken_promises, summary, table
from newsletter_site.demo.start_services import (
    HOLD_S,
    READERS,
    USERNAME,
    Services,
    open_database,
    start_services,
)
from newsletter_site.demo.terminal import DemoError, StoppedError, Terminal
from newsletter_site.embedded_postgres import prepare_data_dir
from publishing.editions.edition_status import load_status
from publishing.publish.publish_edition import edition_by_key
from subscribers.confirmed_readers import confirmed
from subscribers.importing.accept_upload import Statement
from subscribers.importing.import_file import import_file
from subscribers.models import Subscriber

TITLE = "When the swifts came"
# The demo shows this reader's mail, or another reader's mail if this reader has unsubscribed.
A_READER = "edith.marlow@posthouse.example.net"
SHOWN_HELD_S = 2.0


def run(terminal: Terminal, *, stay: bool) -> bool:
    """Publish, deliver and report.

    Return whether all checks passed. With `stay`, the site runs until a signal.
    """
    with Children(prepare_data_dir(settings.HOMING_DATA_DIR), terminal) as children:
        try:
            open_database(terminal)
            terminal.check()
            services = start_services(children)
            terminal.check()
            return _run_steps(children, services, stay=stay)
        except StoppedError:
            terminal.show("\nEnding the demo.")
            raise
        except (requests.RequestException, PermissionError) as error:
            children.check()  # if a child process has ended, raise an error about the child instead
            raise DemoError(f"The site or the sandbox did not answer: {error}.") from error


def _run_steps(children: Children, services: Services, *, stay: bool) -> bool:
    terminal, sandbox, site = children.terminal, services.sandbox, services.site.url
    imported = import_file(
        READERS, stated=Statement(confirmed=True), on_progress=lambda _: terminal.check()
    )
    total, mailable = Subscriber.objects.count(), confirmed().count()
    terminal.step(f"{total:,} readers on the list, {mailable:,} of them confirmed")
    newsletters = Edition.objects.filter(kind=Edition.Kind.NEWSLETTER)
    before = newsletters.count()
    edition, posts = _publish(terminal, services)
    editions = newsletters.count() - before
    _deliver(children, edition)
    mail, unsubscribe_url = services.newest_mail(A_READER) or services.newest_mail("") or ("", "")
    rows = Delivery.objects.filter(issue_id=edition.issue_id, version=edition.version)
    observed = Observed(
        imported=imported,
        total=total,
        posts=posts,
        mailable=mailable,
        editions=editions,
        status=load_status(edition.pk),
        violations=[sentence for _, sentence in find_violations([edition.pk])],
        deliveries={
            str(DeliveryKey(edition.issue_id, edition.version, row.recipient_id)): row
            for row in rows
        },
        copies={
            key: number
            for key, number in services.ask_sandbox("copies?all=1")["copies"].items()
            if key.startswith(f"{edition.issue_id.hex}.")
        },
        readers_with_two=services.ask_sandbox("summary")["readers_with_two_of_one_edition"],
        links={
            link: services.site.open(link.removeprefix(site)).status_code
            for link in (edition.archive_url, unsubscribe_url)
            if link
        },
    )
    broken = list(broken_promises(observed))
    terminal.show("\n" + summary(observed, broken, terminal.seconds))
    if stay:
        public = {
            "front page": f"{site}/",
            "archive": edition.archive_url,
            "every mail": f"{sandbox.url}/",
            "one of them": f"{sandbox.url}/?message={mail}",
            "unsubscribe": unsubscribe_url,
        }
        own = {
            "write": f"{site}{FORM}write/",
            "user name": USERNAME,
            "password": services.password,
            "this issue": f"{site}{FORM}{edition.issue_id}/",
        }
        terminal.show(
            f"\nPublic pages and mails:\n{table(public)}\n\n"
            "Now write an issue yourself (README.md shows how). It goes only to the sandbox.\n"
            f"{table(own)}\nThe site stays up until Ctrl-C."
        )
        with suppress(StoppedError):
            while True:
                children.pause()
        terminal.show("\nEnding the demo.")
    return not broken


def _publish(terminal: Terminal, services: Services) -> tuple[Edition, tuple[Post, Post]]:
    html, text = (
        READERS.with_name(name).read_text("utf-8") for name in ("issue.html", "issue.txt")
    )
    fields = {"title": TITLE, "html_content": html, "text_content": text}
    key, first, second = post_twice(services.site, fields)
    edition = edition_by_key(services.author.pk, key)
    if edition is None:
        raise DemoError(
            f"Nothing was published. The two posts were answered {first.status} and "
            f"{second.status}. See demo-web-server.log in {settings.HOMING_DATA_DIR}."
        )
    terminal.step(f"published “{TITLE}” with the form, posted twice; held for {HOLD_S} s")
    return edition, (first, second)


def _deliver(children: Children, edition: Edition) -> None:
    """Send now instead of after the hold, and wait until sending has ended."""
    terminal = children.terminal
    send_now_at = time.monotonic() + SHOWN_HELD_S
    while (status := load_status(edition.pk)).state in (EditionState.HELD, EditionState.SENDING):
        if status.state is EditionState.HELD and time.monotonic() >= send_now_at:
            edition_control.send_now(edition.pk)
            terminal.step("ended the hold early (like “Send now” on the issue's page)")
            send_now_at = float("inf")
        why = "" if status.state is EditionState.SENDING else f" ({status.reason()})"
        terminal.progress(f"{status.counts.sent:,} of {status.counts.audience:,} sent{why}")
        children.pause()
    terminal.step(f"{status.counts.sent:,} copies sent")
