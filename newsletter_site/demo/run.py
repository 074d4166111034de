"""The way of an issue from an empty folder to its readers, step by step."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import requests
from django.conf import settings

from delivery.interface import control
from delivery.models import Edition
from delivery.rules.edition_state import EditionState
from newsletter_site.demo import observe, summary
from newsletter_site.demo.checks import broken_promises
from newsletter_site.demo.children import Children
from newsletter_site.demo.console import Screen
from newsletter_site.demo.environment import HOLD_S
from newsletter_site.demo.failure import DemoError
from newsletter_site.demo.posting_twice import PostedTwice, post_twice
from newsletter_site.demo.readers import bring_in
from newsletter_site.demo.services import Stage, open_database, set_up
from newsletter_site.demo.single_instance import folder_to_itself
from newsletter_site.demo.stop_signals import StoppedError, Stopping
from newsletter_site.embedded_postgres import prepare_data_dir
from publishing.editions.status import load_status
from publishing.publish.publish import edition_by_key

TITLE = "When the swifts came"
LETTER: Path = settings.BASE_DIR / "publishing" / "demo_material"
STILL_MOVING = (EditionState.HELD, EditionState.SENDING)
DYING_S = 3.0
SEEN_HELD_S = 2.0


def run(screen: Screen, stopping: Stopping, *, stay: bool) -> bool:
    """
    Go the whole way and tell what came of it; with `stay` keep the site up until asked to stop.

    True if every promise was kept. Raises `DemoError` if the demo cannot go on and `StoppedError`
    if it was asked to stop before its end. Either way, whatever it started has ended.
    """
    folder = prepare_data_dir(settings.HOMING_DATA_DIR)
    with (
        folder_to_itself(folder, stopping.pause) as lock,
        Children(
            cwd=settings.BASE_DIR,
            logs=folder,
            keep_open=[lock],
            in_a_hurry=lambda: stopping.asked_twice,
        ) as children,
    ):
        try:
            open_database(screen)
            stopping.look()
            stage = set_up(screen, stopping, children, folder)
            return _go(screen, stopping, children, stage, stay=stay)
        except requests.RequestException as error:
            children.check_for(DYING_S)  # One that died explains it better.
            raise DemoError(f"The site or the sandbox did not answer: {error}.") from error


def _go(
    screen: Screen, stopping: Stopping, children: Children, stage: Stage, *, stay: bool
) -> bool:
    stopping.look()
    readers = bring_in(stopping.look)
    screen.step(
        f"{readers.on_the_list:,} readers on the list, {readers.mailable:,} of them to mail"
    )
    editions_before = _editions()
    posted, edition = _publish(screen, stage)
    _deliver(screen, stopping, children, edition)
    addresses = observe.addresses_of(stage, edition)
    happened = observe.what_happened(
        stage,
        posted,
        edition,
        addresses,
        mailable=readers.mailable,
        editions_made=_editions() - editions_before,
    )
    broken = broken_promises(happened)
    screen.show("\n" + summary.summary(readers, happened, broken, screen.seconds))
    if stay:
        screen.show(summary.where_to_look_on(addresses, stage.author))
        with suppress(StoppedError):
            while True:
                children.check()
                stopping.pause()
        screen.show("\nEnding the demo.")
    return not broken


def _editions() -> int:
    return Edition.objects.filter(kind=Edition.Kind.NEWSLETTER).count()


def _publish(screen: Screen, stage: Stage) -> tuple[PostedTwice, Edition]:
    """The author posts the form twice; the edition that came of it."""
    html, text = (
        (LETTER / name).read_text(encoding="utf-8") for name in ("issue.html", "issue.txt")
    )
    posted = post_twice(stage.browser, TITLE, html, text)
    edition = edition_by_key(stage.author.id, posted.key)
    if edition is None:
        raise DemoError(
            f"The form was answered {posted.first.statuses[-1]} and {posted.second.statuses[-1]}, "
            "and nothing was published; what the site says about it stands in demo-web-server.log "
            f"in {settings.HOMING_DATA_DIR}."
        )
    screen.step(f"“{TITLE}” published by the form, posted twice; held for {HOLD_S} s")
    return posted, edition


def _deliver(screen: Screen, stopping: Stopping, children: Children, edition: Edition) -> None:
    """Send what is held before its time, and watch the workers until nothing moves any more."""
    until = time.monotonic() + SEEN_HELD_S
    while (status := load_status(edition.pk)).state in STILL_MOVING:
        if status.state is EditionState.HELD and time.monotonic() >= until:
            control.send_now(edition.pk)
            screen.step("its hold ended before the time, as “Send now” on its page does")
            until = float("inf")
            continue
        books = status.books
        why = "" if status.state is EditionState.SENDING else f" ({status.reason})"
        screen.progress(f"{books.sent:,} of {books.audience:,} sent{why}")
        children.check()
        stopping.pause()
    screen.step(f"{status.books.sent:,} copies sent")
