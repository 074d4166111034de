"""Test the form, API call and outbox of the example with the installed package."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from smtplib import SMTPDataError
from threading import Barrier

from django.contrib.auth.models import User
from django.core import mail
from django.core.management import call_command
from django.db import connection
from django.db.models.functions import Now
from django.test import Client, TransactionTestCase

from idempotency.expire_saved_responses import expire_saved_responses
from idempotency.models import PostedForm
from shop.models import Mail, Order
from shop.outbox import LEASE, find_lost_attempts, send_next_mail, settle

ORDER = {"item": "Tea", "quantity": "2", "idempotency_key": "key-1"}


class ShopTest(TransactionTestCase):
    def setUp(self):
        self.user = User.objects.create_user("ada", "ada@example.org")
        self.client.force_login(self.user)

    def call(self, client=None, key="key-1", **body):
        content = {"item": "Tea", "quantity": 2, **body}
        headers = {"Idempotency-Key": key} if key else {}
        client = client or self.client
        return client.post("/api/orders", content, "application/json", headers=headers)


class FormTest(ShopTest):
    def test_second_post_replays_the_first_answer_and_message(self):
        for _ in range(2):
            self.assertEqual(self.client.post("/", ORDER).status_code, 302)
            self.assertContains(self.client.get("/"), "Thank you for your order.", count=1)
        self.assertEqual(Order.objects.count(), 1)
        self.assertEqual(Mail.objects.count(), 1)

    def test_simultaneous_posts_order_once(self):
        ready = Barrier(4)

        def post():
            client = Client()
            client.force_login(self.user)
            ready.wait()
            try:
                return client.post("/", ORDER).status_code
            finally:
                connection.close()

        with ThreadPoolExecutor() as threads:
            posts = [threads.submit(post) for _ in range(4)]
        self.assertEqual({each.result() for each in posts}, {302})
        self.assertEqual(Order.objects.count(), 1)

    def test_other_content_under_the_key_changes_nothing(self):
        self.client.post("/", ORDER)
        answer = self.client.post("/", {**ORDER, "item": "Coffee"})
        self.assertContains(answer, "Coffee", status_code=422)
        self.assertNotContains(answer, "key-1", status_code=422)
        self.assertEqual(Order.objects.get().item, "Tea")

    def test_invalid_form_is_shown_again_with_its_key(self):
        answer = self.client.post("/", {**ORDER, "quantity": "many"})
        self.assertContains(answer, "key-1")
        self.assertEqual(self.client.post("/", ORDER).status_code, 302)

    def test_missing_key_is_refused(self):
        self.assertEqual(self.client.post("/", {"item": "Tea", "quantity": 2}).status_code, 400)

    def test_order_itself_answers_after_the_saved_response_expired(self):
        self.client.post("/", ORDER)
        PostedForm.objects.update(created_at=Now() - timedelta(days=31))
        self.assertEqual(expire_saved_responses(), 1)
        self.assertEqual(self.client.post("/", ORDER).status_code, 302)
        self.assertEqual(Order.objects.count(), 1)

    def test_visitors_are_sent_to_the_sign_in_page(self):
        self.assertRedirects(Client().post("/", ORDER), "/login/?next=/")


class CallTest(ShopTest):
    def test_repeated_call_gets_the_same_bytes(self):
        first, second = self.call(), self.call()
        self.assertEqual((first.status_code, first.content), (201, second.content))
        self.assertEqual(Order.objects.count(), 1)

    def test_call_and_form_share_keys(self):
        self.client.post("/", ORDER)
        self.assertEqual(self.call().status_code, 422)

    def test_other_content_and_missing_keys_are_refused(self):
        self.call()
        self.assertEqual(self.call(quantity=3).status_code, 422)
        self.assertEqual(self.call(key=None).status_code, 400)
        self.assertEqual(self.call(Client()).status_code, 403)
        self.assertEqual(Order.objects.get().quantity, 2)


class OutboxTest(ShopTest):
    def setUp(self):
        super().setUp()
        self.call()

    def state(self):
        return Mail.objects.get().state

    def fail_with(self, error):
        def send(_):
            raise error

        self.assertTrue(send_next_mail(send))

    def test_mail_is_sent_once_with_its_attempt(self):
        self.assertTrue(send_next_mail())
        self.assertFalse(send_next_mail())
        [sent] = mail.outbox
        self.assertEqual(sent.extra_headers["X-Attempt"], str(Mail.objects.get().attempt))
        self.assertEqual(self.state(), "sent")

    def test_refused_mail_is_not_unknown(self):
        self.fail_with(SMTPDataError(550, b"no"))
        self.assertEqual(self.state(), "refused")

    def test_lost_answer_is_looked_up_before_the_mail_is_repeated(self):
        self.fail_with(TimeoutError())
        self.assertEqual(self.state(), "unknown")
        self.assertFalse(send_next_mail())
        settle(Mail.objects.get().attempt, provider_has_it=False)
        self.assertTrue(send_next_mail())
        self.assertEqual(len(mail.outbox), 1)

    def test_attempt_of_a_dead_worker_becomes_unknown(self):
        with self.assertRaises(KeyboardInterrupt):
            self.fail_with(KeyboardInterrupt())
        self.assertEqual((self.state(), find_lost_attempts()), ("started", 0))
        Mail.objects.update(started_at=Now() - LEASE)
        find_lost_attempts()
        self.assertEqual(self.state(), "unknown")


class ProjectTest(ShopTest):
    def test_migrations_and_checks_are_complete(self):
        call_command("makemigrations", "--check", "--dry-run", verbosity=0)
        call_command("check", fail_level="WARNING")
