"""Concurrent posts with one key, in real threads."""

from threading import Barrier, Lock

import pytest
from django.db import connection

from idempotency.claim import MAX_WAITING, slot_locks
from idempotency.models import PostedForm
from tests.idempotency.concurrent_posts import PATIENCE_S
from tests.idempotency.one_form_site import LeafletForm, titles, wait_at_the_gate

pytestmark = pytest.mark.django_db(transaction=True)

PRINTED = [[25, "The leaflet is printed.", "paper success"]]


def answers(futures):
    return [future.result(timeout=PATIENCE_S) for future in futures]


class FailingWork:
    """Work whose n-th piece waits at gate n, and fails if `fails[n]` is true."""

    def __init__(self, *fails):
        self.fails = fails
        self.begun = 0
        self._lock = Lock()

    def __call__(self, request):
        with self._lock:
            number, self.begun = self.begun, self.begun + 1
        wait_at_the_gate(request, number)
        if self.fails[number]:
            raise RuntimeError("The paper is out.")


def test_one_of_20_concurrent_posts_does_the_work(window, posts):
    start = Barrier(20, timeout=PATIENCE_S)

    def post(window):
        connection.ensure_connection()
        start.wait()
        return window.post("k")

    windows = [window.another() for _ in range(20)]
    first_answers = answers([posts.start(lambda w=each: post(w)) for each in windows])

    assert titles() == ["Hello"]
    assert {answer.status_code for answer in first_answers} <= {303, 409}
    assert 303 in {answer.status_code for answer in first_answers}
    for answer in first_answers:
        if answer.status_code == 409:
            assert int(answer["Retry-After"]) > 0
            assert window.another().post("k").status_code == 303
    assert len({a.content for a in first_answers if a.status_code == 303}) == 1
    assert titles() == ["Hello"]


def test_three_posts_wait_and_others_get_409_at_once(window, posts, onlooker, during_work):
    during_work(wait_at_the_gate)
    with onlooker.closed_gate():
        first = posts.start(window.another().post)
        onlooker.until(onlooker.at_a_gate, 1)
        others = [window.another() for _ in range(MAX_WAITING)]
        waiting = [posts.start(other.post) for other in others]
        onlooker.until(onlooker.waiting_for_the_first, MAX_WAITING)

        # The first post is still running, so these answers did not wait for the first post.
        late = answers([posts.start(window.another().post) for _ in range(4)])
        assert onlooker.at_a_gate() == 1
        assert onlooker.waiting_for_the_first() == MAX_WAITING

    assert MAX_WAITING == 3
    assert [answer.status_code for answer in late] == [409] * 4
    assert [answer.status_code for answer in answers([first, *waiting])] == [303] * 4
    assert titles() == ["Hello"]
    assert [other.messages() for other in others] == [PRINTED] * 3


def test_a_409_keeps_the_text_and_slots_are_separate(window, sign_in, onlooker):
    take_all_slots(onlooker, window.author, "k")
    answer = window.post("k", text="A long text")
    assert answer.status_code == 409
    assert answer["Retry-After"] == "1"
    assert answer.json()["form"]["text"] == "A long text"
    assert answer.json()["key"] == "k"
    assert window.messages() == []
    assert not PostedForm.objects.exists()

    assert window.post("K").status_code == 303
    assert sign_in().post("k").status_code == 303


def test_failed_posts_each_try_once_and_a_retry_works(window, posts, onlooker, during_work):
    during_work(FailingWork(True, True, True, True, False))
    with onlooker.closed_gate():
        tries = [posts.start(window.another().post) for _ in range(4)]
        onlooker.until(onlooker.waiting_for_the_first, 3)
    assert [answer.status_code for answer in answers(tries)] == [500] * 4
    assert titles() == []
    assert window.post().status_code == 303
    assert titles() == ["Hello"]


@pytest.mark.parametrize("bound", ["ours", "a lock_timeout of the operator"])
def test_a_post_waits_at_most_the_limit(window, posts, onlooker, during_work, settings, bound):
    def second_post():
        if bound == "ours":
            settings.IDEMPOTENCY_WAIT_S = 0.25
        else:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '100ms'")
        return window.another().post()

    during_work(wait_at_the_gate)
    with onlooker.closed_gate():
        first = posts.start(window.another().post)
        onlooker.until(onlooker.at_a_gate, 1)
        second = posts.start(second_post).result(timeout=PATIENCE_S)
        assert onlooker.at_a_gate() == 1

    assert (second.status_code, second["Retry-After"]) == (409, "1")
    assert second.json()["key"] == "a-key"
    assert answers([first])[0].status_code == 303
    assert window.another().post().status_code == 303


def test_consecutive_failures_do_not_extend_the_wait(
    window, posts, onlooker, during_work, settings
):
    # Each of the first two posts takes two thirds of the allowed wait, so the third post can wait
    # for one of them, but not for both. This test needs real time, so the database's clock runs.
    settings.IDEMPOTENCY_WAIT_S = 3
    work = FailingWork(True, True, True, True)
    during_work(work)
    onlooker.close_gate(0)
    onlooker.close_gate(1)
    first = posts.start(window.another().post)
    onlooker.until(onlooker.at_a_gate, 1)
    waiting = [posts.start(window.another().post) for _ in range(3)]
    onlooker.until(onlooker.waiting_for_the_first, 3)

    onlooker.one("SELECT pg_sleep(2)::text")
    onlooker.open_gate(0)
    assert first.result(timeout=PATIENCE_S).status_code == 500
    onlooker.until(onlooker.at_a_gate, 1)
    onlooker.one("SELECT pg_sleep(2)::text")
    onlooker.open_gate(1)

    assert sorted(answer.status_code for answer in answers(waiting)) == [409, 409, 500]
    assert work.begun == 2


def test_concurrent_other_content_waits_and_gets_422(window, posts, onlooker, during_work):
    during_work(wait_at_the_gate)
    with onlooker.closed_gate():
        first = posts.start(lambda: window.post(title="First"))
        onlooker.until(onlooker.at_a_gate, 1)
        second = window.another()
        waiting = posts.start(lambda: second.post(title="Second", text="Their edit"))
        onlooker.until(onlooker.waiting_for_the_first, 1)

    given = answers([first, waiting])
    assert [answer.status_code for answer in given] == [303, 422]
    assert given[1].json()["form"]["text"] == "Their edit"
    assert second.messages() == []
    assert titles() == ["First"]


def test_without_a_slot_a_saved_response_is_replayed(window, posts, onlooker, monkeypatch):
    # A post has looked for a saved answer and found none. Before it asks for a slot, another post
    # commits, and the posts that waited for that commit still hold all slots. To reach this state,
    # the test pauses the post without a slot while its form is validated.
    slow = [True]

    def validate(value):
        if slow and slow.pop():
            wait_at_the_gate(None)

    monkeypatch.setattr(LeafletForm.base_fields["title"], "validators", [validate])
    with onlooker.closed_gate():
        late = posts.start(window.another().post)
        onlooker.until(onlooker.at_a_gate, 1)
        assert window.another().post().status_code == 303
        take_all_slots(onlooker, window.author, "a-key")

    assert late.result(timeout=PATIENCE_S).status_code == 303
    assert titles() == ["Hello"]


def take_all_slots(onlooker, author, key):
    """Hold every slot of a key, as one running and three waiting posts do."""
    for number in slot_locks(author.pk, key):
        onlooker.one("SELECT pg_advisory_lock(%s)::text", number)
