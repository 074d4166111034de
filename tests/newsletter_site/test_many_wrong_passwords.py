"""
Many wrong passwords, over HTTP and from many threads: nobody gets in, and the author does.

The site runs behind a proxy that tells where a request came from; here the test is the proxy.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from axes.models import AccessAttempt
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session

from tests.browser.web_site import WebSite, running_site

pytestmark = pytest.mark.process

RIGHT = "swifts over the hedge"
ATTACKER = "203.0.113.66"
ELSEWHERE = "198.51.100.7"
THREADS = 8
TRIES = 300
# The right password is among the wrong ones, long after the first wait began.
RIGHT_AT = {100, 200, 250}
_local = threading.local()


class Browser:
    """Somebody's browser in one network: it keeps its cookies."""

    def __init__(self, site: WebSite, address: str) -> None:
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["X-Forwarded-For"] = address
        self.page = f"{site.url}/admin/login/"
        self.open()

    def open(self) -> None:
        """Load the page; signing in makes older forms worthless."""
        form = self.session.get(self.page, timeout=60)
        self.token = re.search(r'name="csrfmiddlewaretoken" value="(.+?)"', form.text)[1]

    def sign_in(self, password: str, name: str = "edith") -> int:
        """Post the form; the status of its answer."""
        answer = self.session.post(
            self.page,
            {"username": name, "password": password, "csrfmiddlewaretoken": self.token},
            allow_redirects=False,
            timeout=60,
        )
        return answer.status_code

    @property
    def is_signed_in(self) -> bool:
        """Whether the desk is open to it."""
        where = self.page.replace("login/", "newsletters/issues/")
        return self.session.get(where, allow_redirects=False, timeout=60).status_code != 302


@pytest.mark.usefixtures("transactional_db")
def test_many_wrong_passwords_let_nobody_in_and_lock_no_author_out(database_url: str) -> None:
    get_user_model().objects.create_user("edith", password=RIGHT, is_staff=True, is_superuser=True)
    settings = {"TRUST_PROXY": "on", "LOGIN_COOL_OFF_S": "3600"}
    with running_site(database_url, "http://127.0.0.1:9", settings) as site:
        own = Browser(site, ATTACKER)  # the author's own, in the very same network
        assert own.sign_in(RIGHT) == 302
        own.session.cookies.pop("sessionid", None)
        own.open()
        Session.objects.all().delete()

        def once(number: int) -> int:
            if not hasattr(_local, "browser"):
                _local.browser = Browser(site, ATTACKER)
            return int(_local.browser.sign_in(RIGHT if number in RIGHT_AT else f"wrong {number}"))

        with ThreadPoolExecutor(THREADS) as threads:
            answers = Counter(threads.map(once, range(TRIES)))

        assert answers == {200: 5, 429: TRIES - 5}
        assert not Session.objects.exists()
        assert AccessAttempt.objects.filter(failures_since_start=5).count() == 2

        fresh = Browser(site, ATTACKER)
        assert fresh.sign_in(RIGHT) == 429
        assert not fresh.is_signed_in
        assert own.sign_in(RIGHT) == 302
        assert own.is_signed_in
        telephone = Browser(site, ELSEWHERE)
        assert telephone.sign_in(RIGHT) == 302
        assert telephone.is_signed_in
