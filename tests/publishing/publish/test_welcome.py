"""The welcome letter is sent once to each reader who opts in."""

import io
import json
import uuid
from pathlib import Path

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction

from delivery.interface import enqueue_welcome
from delivery.models import Delivery, Edition, Newsletter
from delivery.queue.claim_due_batch import claim
from delivery.reconcile.database_identity import declare_restored
from delivery.reconcile.reconcile_in_rounds import reconcile
from postmark_sandbox.server import SandboxServer
from publishing.content.edition_content import Content
from publishing.editions.start_scheduled import start_due
from publishing.editions.welcome_letter import welcome_letter
from publishing.models import Draft
from publishing.publish.switch_welcome_letter import turn_off, turn_on
from subscribers.leaving.leave import leave
from subscribers.models import ConsentRecord, Subscriber
from tests.delivery.edition_factory import Newsroom
from tests.delivery.reconcile.table_backup import KeptRows
from tests.delivery.worker_steps import copies_by_key
from tests.newsletter_site.api_caller import Program
from tests.publishing.schedule_issue import make_edition_due, schedule
from tests.subscribers.signup_browser import ADA, get_current, press, sign_up

pytestmark = pytest.mark.django_db(transaction=True)

HELLO = Content(title="Hello {{ name|reader }}", text="Welcome, {{ name|reader }}.\n")


def opt_in() -> Subscriber:
    sign_up(ADA, "Ada")
    reader = get_current()
    press(reader)
    return reader


def copies() -> list[Delivery]:
    return list(Delivery.objects.filter(batch__edition__kind="welcome").order_by("version"))


def test_each_opt_in_gets_one_letter(author, settings):
    settings.SIGN_UP_MAILS_PER_DAY = 9
    letter = turn_on(author.pk, HELLO)
    reader = opt_in()
    press(reader)
    (copy,) = copies()
    assert (copy.issue_id, copy.version, copy.name) == (letter.issue_id, 1, "Ada")
    assert (copy.batch.position, copy.batch.size) == (0, 1)
    leave(reader.pk)
    opt_in()
    assert [copy.version for copy in copies()] == [1, 2]
    second = Edition.objects.get(issue_id=letter.issue_id, version=2)
    assert (second.text_mail, second.stream) == (letter.text_mail, "outbound")


def test_the_links_of_two_requests_bring_one_letter(author):
    turn_on(author.pk, HELLO)
    sign_up(ADA)
    sign_up(ADA)
    reader = get_current()
    press(reader, 1)
    press(reader, 2)
    assert [copy.version for copy in copies()] == [1]


def test_no_letter_goes_out_while_it_is_off(author):
    opt_in()
    assert not turn_off(author.pk)
    turn_on(author.pk, HELLO)
    assert turn_off(author.pk)
    sign_up("grace@example.net")
    press(Subscriber.objects.get(email="grace@example.net"))
    assert copies() == []


def test_an_opt_in_cannot_enqueue_its_letter_twice(author):
    turn_on(author.pk, HELLO)
    reader = opt_in()
    with pytest.raises(IntegrityError, match="delivery_pkey"), transaction.atomic():
        enqueue_welcome([(reader.pk, reader.email, "", {})], opt_in=1)
    with pytest.raises(transaction.TransactionManagementError, match="No transaction is open"):
        enqueue_welcome([(reader.pk, reader.email, "", {})], opt_in=2)
    assert len(copies()) == 1


def test_a_confirmation_without_its_letter_is_undone(author):
    turn_on(author.pk, HELLO)
    sign_up(ADA)
    reader = get_current()
    with transaction.atomic():
        enqueue_welcome([(reader.pk, reader.email, "", {})], opt_in=1)
    with pytest.raises(IntegrityError):
        press(reader)
    assert get_current().state == "pending"


def test_a_new_text_replaces_the_letter_for_later_opt_ins(author):
    first = turn_on(author.pk, HELLO)
    opt_in()
    assert turn_on(author.pk, HELLO) == first
    second = turn_on(author.pk, Content(title="Good morning", text="Good morning.\n"))
    sign_up("grace@example.net")
    press(Subscriber.objects.get(email="grace@example.net"))
    assert {copy.issue_id for copy in copies()} == {first.issue_id, second.issue_id}


def test_a_welcome_letter_is_in_no_archive(author, client):
    letter = turn_on(author.pk, HELLO)
    assert client.get(f"/archive/{letter.issue.slug}/", secure=True).status_code == 404
    assert "Hello" not in client.get("/archive/", secure=True).content.decode()


def script(*arguments: object) -> dict[str, object]:
    out = io.StringIO()
    call_command("welcome", *map(str, arguments), "--author", "edith", stdout=out)
    return json.loads(out.getvalue())


def test_the_command_tests_turns_on_and_turns_off(author, tmp_path: Path):
    file = tmp_path / "letter.txt"
    file.write_text("Welcome.\n")
    words = ("--title", "Hello", "--text-file", file)
    tested = script("--test", "\u202aedith@EXAMPLE.org\u202c", *words)
    assert Delivery.objects.get().address == "edith@example.org"
    assert (tested["on"], tested["test_letter"] > 0) == (False, True)
    shown = script("--on", *words)
    assert (shown["on"], shown["title"], shown["sent"]) == (True, "Hello", 0)
    opt_in()
    assert script() == shown
    assert script("--off") == {"on": False}
    codes = [json.loads(e.change_message)["code"] for e in LogEntry.objects.order_by("id")]
    assert codes == ["turn_on_welcome", "turn_off_welcome"]


def test_the_command_refuses_a_letter_without_text(author):
    with pytest.raises(CommandError):
        script("--on", "--title", "Hello")
    with pytest.raises(CommandError):
        script("--test", "nobody", "--title", "Hello")
    assert not Edition.objects.exists()


PAGE = "/admin/newsletters/welcome/"


def test_the_page_turns_on_the_present_text_of_a_draft(author, window):
    draft = Draft.objects.create(title="Hello", letter="Welcome, {{ name|reader }}.")
    assert window.post(PAGE, draft=str(draft.pk)).status == 302
    opt_in()
    page = window.get(PAGE).html
    assert "The letter “Hello” has been switched on since" in page
    assert "It was sent 0 times." in page
    Draft.objects.update(letter="{{ unknown }}")
    refused = window.post(PAGE, draft=str(draft.pk))
    assert (refused.status, "unknown" in refused.html) == (422, True)
    assert window.post(PAGE, draft="nothing").status == 422
    assert "Welcome, " in welcome_letter().text_mail
    assert window.post(PAGE, off="1").status == 302
    assert "The welcome letter is off." in window.get(PAGE).html


@pytest.fixture
def newsroom(provider: SandboxServer) -> Newsroom:
    made = Newsroom()
    made.sandbox = provider.sandbox
    return made


def accepted_letters(newsroom: Newsroom, issue: object) -> list[int]:
    return [n for key, n in copies_by_key(newsroom).items() if str(key).startswith(issue.hex)]


def test_queued_letters_are_still_sent_once_it_is_off(author, newsroom):
    turn_on(author.pk, HELLO)
    opt_in()
    turn_off(author.pk)
    newsroom.deliver_all()
    assert [copy.outcome for copy in copies()] == ["sent"]


def test_welcome_letter_and_scheduled_issue_keep_their_footer(author, newsroom):
    Newsletter.objects.update_or_create(pk=1, defaults={"footer": "VAT 7"})
    turn_on(author.pk, HELLO)
    newsroom.confirm(1)
    make_edition_due(schedule(newsroom))
    start_due()
    Newsletter.objects.update(footer="VAT 8")
    opt_in()
    newsroom.deliver_all()
    sent = Edition.objects.filter(kind__in=["newsletter", "welcome"], batch__sent=1).distinct()
    assert sorted(edition.kind for edition in sent) == ["newsletter", "welcome"]
    mails = [edition.html_mail + edition.text_mail for edition in sent]
    assert ["VAT 7" in mail for mail in mails] == [True, True]
    assert not any("VAT 8" in mail for mail in mails)


def test_a_restored_letter_waits_until_it_is_reconciled(author, newsroom):
    issue = turn_on(author.pk, HELLO).issue_id
    opt_in()
    backup = KeptRows()
    newsroom.deliver_all()
    backup.restore()
    declare_restored()
    newsroom.deliver_after(60)
    assert [copy.outcome for copy in copies()] == ["waiting"]
    newsroom.let_time_pass(1_000)
    reconcile(None, waits=False, start_sent=bool, report_progress=len)
    newsroom.deliver_after(60)
    assert [copy.outcome for copy in copies()] == ["sent"]
    assert accepted_letters(newsroom, issue) == [1]


@pytest.mark.parametrize("was_sent", [True, False])
def test_an_old_link_pressed_after_a_restore_asks_first(author, newsroom, was_sent):
    issue = turn_on(author.pk, HELLO).issue_id
    sign_up(ADA)
    newsroom.deliver_all()
    backup = KeptRows()
    kept = ConsentRecord.objects.latest("pk").pk
    if was_sent:
        press(get_current())
        newsroom.deliver_all()
    backup.restore()
    with transaction.atomic(), connection.cursor() as cursor:
        # Switch off the triggers that forbid changes of consent records.
        cursor.execute("SET LOCAL session_replication_role = replica")
        ConsentRecord.objects.filter(pk__gt=kept).delete()
        Subscriber.objects.update(state="pending", confirmed_at=None, opt_in=None)
    declare_restored()
    newsroom.let_time_pass(1_000)
    reconcile(None, waits=False, start_sent=bool, report_progress=len)
    press(get_current())
    assert [copy.outcome for copy in copies()] == ["unknown"]
    for _ in range(4):
        newsroom.deliver_after(1_000)
    assert [copy.outcome for copy in copies()] == ["sent"]
    assert accepted_letters(newsroom, issue) == [1]


def test_missed_letters_are_sent_again_from_the_page(author, window, newsroom):
    issue = turn_on(author.pk, HELLO).issue_id
    sign_up(ADA)
    newsroom.deliver_all()
    press(get_current())
    for _ in range(2):
        claim(uuid.uuid4(), lease_s=30)
        newsroom.let_time_pass(31)
        newsroom.recover_expired_leases()
    assert [copy.outcome for copy in copies()] == ["failed"]
    assert "1 reader was missed" in window.get(PAGE).words
    assert window.post(PAGE, again="1").status == 302
    newsroom.deliver_all()
    assert accepted_letters(newsroom, issue) == [1]
    assert "was missed" not in window.get(PAGE).words


def test_its_draft_is_marked_before_it_is_published(author, window):
    draft = Draft.objects.create(title="Hello", letter="Welcome.")
    pages = [f"/admin/newsletters/drafts/{draft.pk}/{page}" for page in ("", "check/", "publish/")]
    words = "the title of your welcome letter"
    assert not any(words in window.get(page).html for page in pages)
    window.post(PAGE, draft=str(draft.pk))
    draft.letter = "Welcome back."
    draft.save()
    assert all(words in window.get(page).html for page in pages)


def test_a_welcome_letter_needs_the_second_person_too(author, window):
    Newsletter.objects.update(second_person=True)
    draft = Draft.objects.create(title="Hello", letter="Welcome.")
    assert window.post(PAGE, draft=str(draft.pk)).status == 422
    assert welcome_letter() is None


def test_a_program_turns_the_letter_on_and_off(author):
    program = Program(author, "publish")
    assert program.get("/welcome/").json() == {"on": False, "title": "", "since": None, "sent": 0}
    refused = program.post("/welcome/", {"on": True, "title": "Hello"}, method="PUT")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "html")
    letter = {"on": True, "title": "Hello", "text": "Welcome."}
    on = program.post("/welcome/", letter, method="PUT")
    assert (on.status_code, on.json()["on"], on.json()["title"]) == (200, True, "Hello")
    Newsletter.objects.update(second_person=True)
    other = program.post("/welcome/", letter | {"text": "Hello."}, method="PUT")
    assert (other.status_code, other.json()["title"]) == (
        409,
        "A second person's approval is required",
    )
    assert not program.post("/welcome/", {"on": False}, method="PUT").json()["on"]
