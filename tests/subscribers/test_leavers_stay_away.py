"""Only a fresh opt-in resubscribes a reader. Every other way fails."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import LazySettings
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction

from delivery.feedback import poll_provider
from delivery.models import Edition
from newsletter_site.api.openapi_document import document
from postmark_sandbox.server import SandboxServer
from subscribers.confirmed_readers import confirmed
from subscribers.leaving.leave import leave
from subscribers.models import Subscriber
from subscribers.suppression.apply_events_to_readers import GRAVER
from tests.delivery import webhook_events
from tests.newsletter_site.api_caller import API, Program
from tests.publishing.author_browser import WindowOf
from tests.subscribers.importing.import_browser import run_workers
from tests.subscribers.signup_browser import ADA, press, sign_up

pytestmark = pytest.mark.django_db(transaction=True)

GONE = ["bounced", "unsubscribed", "complained"]
DESK = "/admin/newsletters/"
LATER = "2099-01-01T00:00:00Z"


@pytest.fixture(params=GONE)
def gone(request: pytest.FixtureRequest) -> Subscriber:
    """Make Ada, who confirmed and then unsubscribed."""
    sign_up(ADA, "Ada")
    reader = Subscriber.objects.get()
    press(reader)
    if request.param == "unsubscribed":
        leave(reader.pk)
    else:
        Subscriber.objects.filter(pk=reader.pk).update(state=request.param)
    reader.refresh_from_db()
    assert reader.state == request.param
    return reader


@pytest.fixture
def operator(transactional_db: None) -> WindowOf:
    """Make a user with all permissions of the desk."""
    return WindowOf(get_user_model().objects.create_superuser("edith", password="a long password"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Make a file to import with Ada's address in another spelling."""
    path = tmp_path / "list.csv"
    path.write_text(f"email,name\n {ADA.upper()} ,Ada\nnew@posthouse.example.org,New\n")
    return path


@pytest.fixture(autouse=True)
def stays_away(gone: Subscriber) -> Iterator[Callable[[], None]]:
    """Check that Ada's state is unchanged and that no audience includes her."""
    before = GRAVER.index(gone.state)
    left_at, gone_at = gone.unsubscribed_at, gone.gone_at

    def look() -> None:
        gone.refresh_from_db()
        assert GRAVER.index(gone.state) >= before
        assert gone_at is not None
        assert gone.gone_at >= gone_at
        if left_at is not None:
            assert gone.unsubscribed_at == left_at
        assert gone.pk not in confirmed().values_list("id", flat=True)

    yield look
    look()


def test_an_import_with_consent_skips_a_gone_reader(
    gone: Subscriber, operator: WindowOf, file: Path
) -> None:
    upload = SimpleUploadedFile("list.csv", file.read_bytes())
    answer = operator.post(f"{DESK}imports/", file=upload)  # type: ignore[arg-type]
    page = answer.answer.headers["Location"]
    run_workers()
    decided = operator.post(
        f"{page}import/", consent="elsewhere", states_it="yes", where="They said so at the fair."
    )
    assert decided.status == 303, decided.words
    run_workers()
    assert Subscriber.objects.get(email="new@posthouse.example.org").state == "confirmed"


@pytest.mark.parametrize("gone", ["unsubscribed"], indirect=True)
def test_no_api_call_resubscribes_a_gone_reader(gone: Subscriber, operator: WindowOf) -> None:
    """Send every call of the API document except erasing."""
    program = Program(operator.author)
    program.post("/issues/", {"title": "Swifts", "text": "They have gone."})
    tried = 0
    for path, operations in document()["paths"].items():
        place = path.removeprefix(API).replace("{reader}", str(gone.pk))
        for action in ("block", "unblock", "unsubscribe", "confirm", "resubscribe"):
            named = place.replace("{action}", action).replace("{import_id}", "1")
            for issue in Edition.objects.values_list("issue", flat=True):
                address = named.replace("{issue}", str(issue))
                for method in operations:
                    program.get(address) if method == "get" else program.post(
                        address, {"address": ADA, "confirmed": True, "where": "She said so."}
                    )
                    tried += 1
    assert tried > 100


EVENTS: list[dict[str, Any]] = [
    {"RecordType": "SubscriptionChange", "SuppressSending": False, "Origin": "Recipient"},
    {"RecordType": "SubscriptionChange", "SuppressSending": False, "Origin": "Customer"},
    {"RecordType": "Delivery", "DeliveredAt": LATER},
    {"RecordType": "Open", "ReceivedAt": LATER},
    {"RecordType": "Bounce", "Type": "Subscribe", "ID": 7, "Inactive": False},
    {"RecordType": "Bounce", "Type": "AddressChange", "ID": 8, "Inactive": False},
]


def test_no_event_resubscribes_a_gone_reader(
    gone: Subscriber, settings: LazySettings, stays_away: Callable[[], None]
) -> None:
    settings.POSTMARK_WEBHOOK_USER = webhook_events.USER
    settings.POSTMARK_WEBHOOK_PASSWORD = webhook_events.PASSWORD
    about = {
        "MessageID": None,
        "Email": ADA,
        "Recipient": ADA,
        "ChangedAt": LATER,
        "BouncedAt": LATER,
        "SuppressionReason": None,
        "Metadata": {},
    }
    for stream, event in itertools.product(("broadcast", "outbound"), EVENTS):
        assert webhook_events.post({"MessageStream": stream, **about, **event}) == 200
        stays_away()
    # Ada stays unsubscribed after a poll of a provider whose lists do not contain Ada's address.
    with SandboxServer() as server:
        settings.POSTMARK_BASE_URL = server.url
        poll_provider.poll(lambda: False)
        assert server.sandbox.calls.count > 0


def test_no_desk_action_resubscribes_a_gone_reader(gone: Subscriber, operator: WindowOf) -> None:
    for action in ("block", "unblock", "unsubscribe", "confirm", "edit", "resubscribe"):
        operator.post(f"{DESK}readers/{gone.pk}/{action}/", state="confirmed", email=ADA)
    # The admin cannot edit readers or their data.
    ours = set(apps.get_app_config("subscribers").get_models())
    assert ours.isdisjoint(admin.site._registry)


def test_only_their_own_opt_in_resubscribes_a_gone_reader(gone: Subscriber) -> None:
    """The positive case: after the opt-in, Ada is a reader again."""
    sign_up(ADA)
    with transaction.atomic():
        press(gone)
        assert gone.pk in confirmed().values_list("id", flat=True)
        transaction.set_rollback(True)
