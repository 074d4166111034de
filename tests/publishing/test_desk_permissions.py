"""Each of the five groups that a migration creates may open only its own URLs."""

import importlib
import itertools
import uuid

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.urls import reverse

from delivery.models import Delivery, Edition
from publishing import urls
from publishing.actions.edition_actions import ACTIONS
from publishing.publish.publish_edition import publish
from subscribers.desk import urls as desk_urls
from tests.publishing.author_browser import FORM, WindowOf
from tests.publishing.content_factory import letter

pytestmark = pytest.mark.django_db(transaction=True)

seed = importlib.import_module("migrations.newsletter_site.0002_groups").seed

W, P, M, O = "Writers", "Publishers", "Managers of readers", "Operators"  # noqa: E741
A = "Administrators"  # may open every URL of the desk
WRITING, PUBLISHING, LOOKING = {W, P}, {P}, {W, P, O}
ACTING, MANAGING = {P, O}, {M}


def _each(app: str, names: str, groups: set[str]) -> dict[str, set[str]]:
    return {f"{app}:{name}": groups for name in names.split()}


# The name of every URL of the desk, with the groups that may open it.
OPEN_TO = {
    **_each(
        "desk",
        "publish listing reschedule approve_draft publish_draft welcome move_issues rehearsal "
        "send_to_remaining",
        PUBLISHING,
    ),
    **_each(
        "desk",
        "write audience when drafts draft draft_delete draft_to_markdown draft_preview preview "
        "next_version_preview images check looks draft_address draft_archive test test_letter "
        "prepare_video snippets add_snippet edit_snippet delete_snippet",
        WRITING,
    ),
    **_each("desk", "issues", {W, P, M, O}),
    **_each("readers", "settings", {M, O}),
    **_each("desk", "newsletter_settings zone_time sender use_sender check_sender_domain", {O}),
    **_each("desk", "look look_preview", {O}),
    **_each("desk", "progress progress_json receipt receipt_json check_receipt", LOOKING),
    **_each("desk", "acknowledge_alarms action", ACTING),
    **_each("desk", "readers_csv log", {P, M, O}),
    **_each("desk", "export download_export", MANAGING),
    **_each(
        "readers",
        "list file suppressed_file embed_form reader reader_file act imports import rejects "
        "columns decide discard undo add edit correct change changing add_field "
        "edit_field move_field delete_field add_tag edit_tag delete_tag move stop_change "
        "save_filter delete_filter",
        MANAGING,
    ),
}


def patterns():
    return {
        **{f"desk:{one.name}": one for one in urls.urlpatterns},
        **{f"readers:{one.name}": one for one in desk_urls.urlpatterns},
    }


def address_of(name):
    """Return the route's URL, with ids that do not exist."""
    values = {"uuid": uuid.UUID(int=7), "int": 7, "slug": "pause", "str": "x"}
    kinds = {
        place: type(converter).__name__.removesuffix("Converter").lower()
        for place, converter in patterns()[name].pattern.converters.items()
    }
    return reverse(name, kwargs={place: values[kind] for place, kind in kinds.items()})


@pytest.fixture
def groups(transactional_db):
    """Create the groups as the migration does."""
    seed(apps, None)


@pytest.fixture
def somebody_in(groups):
    """Create a user who has only the permissions of these groups."""

    def make(*names, username=None):
        person = get_user_model().objects.create_user(
            username=username or f"in-{'-'.join(names)}"[:150] or "nobody", is_staff=True
        )
        person.groups.set(Group.objects.filter(name__in=names))
        return person

    return make


def test_the_table_names_every_address_of_the_desk():
    assert set(OPEN_TO) == set(patterns())


@pytest.mark.parametrize("name", sorted(OPEN_TO))
def test_each_page_is_open_only_to_its_groups(somebody_in, name):
    address = address_of(name)
    for people in ((W,), (P,), (M,), (O,), (A,), ()):
        window = WindowOf(somebody_in(*people))
        for asked in (window.get, window.post):
            page = asked(address)
            is_open = bool((OPEN_TO[name] | {A}) & set(people))
            assert page.status < 500
            if is_open:
                assert page.status != 403, (people, asked)
            elif page.status != 405:  # 405: the URL does not accept this method from any user
                assert page.status == 403, (people, asked)


def test_signed_out_visitors_are_redirected_to_the_login(transactional_db):
    stranger = WindowOf(None)
    for name, asked in itertools.product(OPEN_TO, (stranger.get, stranger.post)):
        page = asked(address_of(name))
        assert page.status == 302
        assert page.answer["Location"].startswith("/admin/login/?next=")


EXPECTED = {
    W: {"view_issue", "write_draft"},
    P: {"view_issue", "write_draft", "publish_edition"},
    M: {"manage_readers"},
    O: {"view_issue", "operate_sending", "change_newsletter"},
}
EXPECTED[A] = set().union(*EXPECTED.values(), {"manage_authors"})


def codenames(group):
    return set(Group.objects.get(name=group).permissions.values_list("codename", flat=True))


def migrate_from_before_the_groups():
    executor = MigrationExecutor(connection)
    latest = executor.loader.graph.leaf_nodes()
    executor.migrate([("newsletter_site", "0001_authors_and_api_tokens")])
    executor.loader.build_graph()
    return executor, latest


def test_the_migration_makes_five_groups_in_a_fresh_database(transactional_db):
    executor, latest = migrate_from_before_the_groups()
    Group.objects.all().delete()
    Permission.objects.all().delete()

    executor.migrate(latest)

    assert {name: codenames(name) for name in EXPECTED} == EXPECTED


def test_existing_group_keeps_its_permissions_and_gets_new_ones(transactional_db):
    member = get_user_model().objects.create_user("willa")
    executor, latest = migrate_from_before_the_groups()
    Group.objects.all().delete()
    theirs = Group.objects.create(name=W)
    theirs.permissions.add(Permission.objects.get(codename="add_logentry"))
    member.groups.add(theirs)

    executor.migrate(latest)

    assert Group.objects.get(name=W).pk == theirs.pk
    assert codenames(W) == EXPECTED[W] | {"add_logentry"}
    assert member.has_perm("publishing.write_draft")


def links_of(page):
    nav = page.html.split('<nav aria-label="Desk">')[1].split("</nav>")[0]
    return [
        word
        for word in ("Write", "Issues", "Readers", "Imports", "Log", "Authors")
        if f">{word}<" in nav
    ]


@pytest.mark.parametrize(
    ("group", "address", "shown"),
    [
        (W, f"{FORM}issues/", ["Write", "Issues"]),
        (P, f"{FORM}issues/", ["Write", "Issues", "Log"]),
        (O, f"{FORM}issues/", ["Issues", "Log"]),
        (M, f"{FORM}readers/", ["Readers", "Imports", "Log"]),
        ((W, M), f"{FORM}issues/", ["Write", "Issues", "Readers", "Imports", "Log"]),
        (A, f"{FORM}issues/", ["Write", "Issues", "Readers", "Imports", "Log", "Authors"]),
    ],
)
def test_the_navigation_shows_only_permitted_pages(somebody_in, group, address, shown):
    window = WindowOf(somebody_in(*([group] if isinstance(group, str) else group)))
    page = window.get(address)

    assert page.status == 200
    assert links_of(page) == shown
    brand = page.html.split('class="brand" href="')[1].split('"')[0]
    assert window.get(window.get(brand).answer["Location"]).status == 200


@pytest.fixture
def held(author, three_readers):
    return publish(author.pk, "key", letter(), hold_s=600).edition


@pytest.mark.parametrize("group", [W, P, O])
def test_buttons_without_permission_are_hidden(somebody_in, held, group):
    page = WindowOf(somebody_in(group)).get(f"{FORM}{held.issue_id}/")

    for name in ("pause", "call-back", "send-now", "cancel"):
        assert (f"/{held.issue_id}/{name}/" in page.html) == (group in ACTING), name
    assert (f"/write/?issue={held.issue_id}" in page.html) == (group in WRITING)
    assert (f"/{held.issue_id}/listing/" in page.html) == (group in PUBLISHING)


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_each_action_needs_its_permission(somebody_in, held, name):
    address = f"{FORM}{held.issue_id}/{name}/"
    for group in (W, M):
        for asked in (
            WindowOf(somebody_in(group)).get,
            WindowOf(somebody_in(group, username=f"other {group}")).post,
        ):
            assert asked(address).status == 403
    edition = Edition.objects.get(pk=held.pk)
    assert (edition.control, edition.held_until) == (held.control, held.held_until)
    assert set(Delivery.objects.values_list("outcome", flat=True)) == {"waiting"}
    for group in (P, O):
        assert WindowOf(somebody_in(group)).get(address).status in {200, 303}
