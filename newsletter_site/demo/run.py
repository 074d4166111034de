"""The steps of the demo, from an empty folder to delivered mail."""

import time
from contextlib import suppress
from pathlib import Path

import requests
from django.conf import settings

from delivery.interface import control
from delivery.models import Delivery, Edition
from delivery.reports.audit import find_violations, violation_sentence
from delivery.rules.delivery_key import DeliveryKey
from delivery.rules.edition_state import EditionState
from newsletter_site.demo.browser import FORM, Post, post_twice
from newsletter_site.demo.checks import Observed, broken_promises
from newsletter_site.demo.child_processes import Children, DemoError
from newsletter_site.demo.readers import import_readers
from newsletter_site.demo.services import (
    HOLD_S,
    USERNAME,
    Services,
    ask_sandbox,
    newest_mail,
    open_database,
    start_services,
)
from newsletter_site.demo.single_instance import locked_folder
from newsletter_site.demo.summary import summary, table
from newsletter_site.demo.terminal import Console, StoppedError, StopSignals
from newsletter_site.embedded_postgres import prepare_data_dir
from publishing.editions.status import load_status
from publishing.publish.publish import edition_by_key

TITLE = "When the swifts came"
MATERIAL: Path = settings.BASE_DIR / "publishing" / "demo_material"
# Her mail is shown. After her unsubscribe link was used, another one is.
A_READER = "edith.marlow@posthouse.example.net"
SHOWN_HELD_S = 2.0


def run(console: Console, stop: StopSignals, *, stay: bool) -> bool:
    """Publish, deliver and report; return whether all promises were kept. `stay` keeps it up."""
    folder = prepare_data_dir(settings.HOMING_DATA_DIR)
    with (
        locked_folder(folder, stop) as lock,
        Children(settings.BASE_DIR, folder, lock, stop) as children,
    ):
        try:
            open_database(console)
            stop.check()
            services = start_services(console, children, folder)
            return _run_steps(console, children, services, stay=stay)
        except (requests.RequestException, PermissionError) as error:
            children.check()  # A child that has ended explains it better.
            raise DemoError(f"The site or the sandbox did not answer: {error}.") from error


def _run_steps(console: Console, children: Children, services: Services, *, stay: bool) -> bool:
    children.stop.check()
    readers = import_readers(children.stop)
    console.step(f"{readers.total:,} readers on the list, {readers.mailable:,} of them to mail")
    newsletters = Edition.objects.filter(kind=Edition.Kind.NEWSLETTER)
    before = newsletters.count()
    edition, posts = _publish(console, services)
    editions = newsletters.count() - before
    _deliver(console, children, edition)
    sandbox, site = services.sandbox, services.site_url
    mail, unsubscribe_url = newest_mail(sandbox, A_READER)
    if not mail:
        mail, unsubscribe_url = newest_mail(sandbox, "")
    rows = Delivery.objects.filter(issue_id=edition.issue_id, version=edition.version)
    observed = Observed(
        posts=posts,
        mailable=readers.mailable,
        editions=editions,
        status=load_status(edition.pk),
        violations=[violation_sentence(violation) for violation in find_violations([edition.pk])],
        deliveries={
            str(DeliveryKey(edition.issue_id, edition.version, row.recipient_id)): row
            for row in rows
        },
        copies={
            key: number
            for key, number in ask_sandbox(sandbox, "copies?all=1")["copies"].items()
            if key.startswith(f"{edition.issue_id.hex}.")
        },
        readers_with_two=ask_sandbox(sandbox, "summary")["readers_with_two_of_one_edition"],
        links={
            link: services.browser.open(link.removeprefix(site)).status_code
            for link in (edition.archive_url, unsubscribe_url)
            if link
        },
    )
    broken = list(broken_promises(observed))
    console.show("\n" + summary(readers, observed, broken, console.seconds))
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
        console.show(
            f"\nPublic pages and mails:\n{table(public)}\n\n"
            "Now write an issue of your own. It goes only to the sandbox; README.md shows how.\n"
            f"{table(own)}\nThe site stays up until Ctrl-C."
        )
        with suppress(StoppedError):
            while True:
                children.pause()
        console.show("\nEnding the demo.")
    return not broken


def _publish(console: Console, services: Services) -> tuple[Edition, tuple[Post, Post]]:
    html, text = ((MATERIAL / name).read_text("utf-8") for name in ("issue.html", "issue.txt"))
    fields = {"title": TITLE, "html_content": html, "text_content": text}
    key, first, second = post_twice(services.browser, fields)
    edition = edition_by_key(services.author.pk, key)
    if edition is None:
        raise DemoError(
            f"The form was answered {first.statuses[-1]} and {second.statuses[-1]}, and nothing "
            f"was published. See demo-web-server.log in {settings.HOMING_DATA_DIR}."
        )
    console.step(f"“{TITLE}” published by the form, posted twice; held for {HOLD_S} s")
    return edition, (first, second)


def _deliver(console: Console, children: Children, edition: Edition) -> None:
    """End the hold early, as “Send now” does, and wait until nothing moves any more."""
    send_now_at = time.monotonic() + SHOWN_HELD_S
    while (status := load_status(edition.pk)).state in (EditionState.HELD, EditionState.SENDING):
        if status.state is EditionState.HELD and time.monotonic() >= send_now_at:
            control.send_now(edition.pk)
            console.step("its hold ended before the time, as “Send now” on its page does")
            send_now_at = float("inf")
        why = "" if status.state is EditionState.SENDING else f" ({status.reason})"
        console.progress(f"{status.counts.sent:,} of {status.counts.audience:,} sent{why}")
        children.pause()
    console.step(f"{status.counts.sent:,} copies sent")
