"""The Django admin has the desk's design, the authors, and a read-only log."""

import re

import pytest
from django.contrib.auth import get_user_model

from tests.publishing.author_browser import WindowOf

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def operator(transactional_db):
    """Return a browser window in which a superuser is signed in."""
    return WindowOf(get_user_model().objects.create_superuser("ola", password="a long password"))


@pytest.mark.parametrize(
    ("permission", "shown"),
    [
        ("write_draft", ["Write an issue", "Issues"]),
        (
            "publish_edition",
            ["Write an issue", "Publish an issue", "Issues"],
        ),
        ("view_issue", ["Issues"]),
        ("manage_readers", ["Readers", "Imports"]),
    ],
)
def test_the_admin_links_to_the_permitted_desk_pages(new_author, permission, shown):
    page = WindowOf(new_author("ines", permission)).get("/admin/")

    desk = re.search(r"<caption>Newsletter</caption>(.*?)</table>", page.html, re.S)
    assert re.findall(r">([^<>]+)</a>", desk[1]) == [*shown, "API tokens"]


def test_authors_can_be_changed_and_the_log_is_read_only(operator):
    assert operator.get("/admin/newsletter_site/user/").status == 200
    assert operator.get("/admin/admin/logentry/").status == 200
    assert operator.get("/admin/admin/logentry/add/").status == 403


def test_user_without_staff_status_cannot_sign_in(new_author):
    author = new_author("ines")
    author.is_staff = False
    author.save()

    page = WindowOf(None).post("/admin/login/", username="ines", password="a long password")

    assert page.status == 200
    assert "sessionid" not in page.answer.cookies
