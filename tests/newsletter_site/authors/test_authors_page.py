"""The pages of authors: the list, one author, and the confirmed actions."""

import uuid
from collections.abc import Callable

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.utils import timezone

from newsletter_site.authors import change_author
from newsletter_site.authors.lock_accounts import AccountRefusedError
from newsletter_site.models import Passkey, User
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.desk_roles import ROLES
from publishing.models import Draft
from tests.newsletter_site.authors.conftest import PASSWORD
from tests.publishing.author_browser import WindowOf

Make = Callable[..., User]
AUTHORS = "/admin/authors/"


@pytest.fixture
def window(ada: User) -> WindowOf:
    return WindowOf(ada)


def test_only_managers_of_authors_open_the_pages(person: Make, ada: User) -> None:
    pages = ("", f"{ada.pk}/", f"{ada.pk}/disable/")
    for group in ("Writers", "Publishers", "Managers of readers", "Operators"):
        other = WindowOf(person(group.replace(" ", "-"), group))
        for page in pages:
            assert other.get(f"{AUTHORS}{page}").status == 403
            assert other.post(f"{AUTHORS}{page}").status == 403
        assert other.post("/admin/invitations/7/", do="withdraw").status == 403
        assert AUTHORS not in other.get("/admin/profile/").source
    assert [WindowOf(ada).get(f"{AUTHORS}{page}").status for page in pages] == [200] * 3


def test_the_list_shows_role_factor_and_state(person: Make, window: WindowOf) -> None:
    assert "Nobody else can sign in yet." in window.get(AUTHORS).words
    person("ines", "Publishers", two_step_since=timezone.now(), last_login=timezone.now())
    person("ola", "Operators", "Managers of readers")
    person("root", is_superuser=True)
    person("liv", "Writers", is_active=False, left_at=timezone.now())
    person("bo", "Writers", is_active=False)
    rows = window.get(AUTHORS).html.split("<tbody>")[1].split("</tr>")
    shown = {
        name: row
        for row in rows
        for name in ("ada", "ines", "ola", "root", "liv", "bo")
        if f">{name}</a>" in row
    }
    for name, *words in (
        ("ada", "(you)", "Administrator", "Off"),
        ("ines", "ines@", "Publisher", "On", "Can sign in"),
        ("ola", "Groups: Managers of readers, Operators", "Never"),
        ("root", "Operator, may do everything"),
        ("liv", "Has left"),
        ("bo", "Disabled"),
    ):
        assert all(word in shown[name] for word in words), name


def test_a_passkey_counts_as_two_steps_on_the_page(person: Make, window: WindowOf) -> None:
    ines = person("ines", "Writers")
    assert "Two-step sign-in Off" in window.get(f"{AUTHORS}{ines.pk}/").words
    Passkey.objects.create(
        user=ines, name="Phone", credential_id=b"1", public_key=b"", sign_count=0
    )
    assert "Two-step sign-in On" in window.get(f"{AUTHORS}{ines.pk}/").words


def test_a_role_changes_after_a_confirmation(person: Make, window: WindowOf) -> None:
    ola = person("ola", "Operators", "Managers of readers")
    assert "A role replaces all of them." in window.get(f"{AUTHORS}{ola.pk}/").words
    page = window.get(f"{AUTHORS}{ola.pk}/role/?role=publisher")
    assert page.form_with("role").fields["role"] == "publisher"
    assert not User.objects.get(pk=ola.pk).has_perm("publishing.publish_edition")
    window.post(f"{AUTHORS}{ola.pk}/role/", role="publisher")
    assert [group.name for group in ola.groups.all()] == ["Publishers"]
    [entry] = LogEntry.objects.all()
    assert plain_sentence_of(entry) == "ada changed the role of ola to Publisher."
    assert window.post(f"{AUTHORS}{ola.pk}/role/", role="king").status == 409
    ola.user_permissions.add(Permission.objects.get(codename="manage_readers"))
    assert "Groups: Publishers, own permissions" in window.get(f"{AUTHORS}{ola.pk}/").words
    window.post(f"{AUTHORS}{ola.pk}/role/", role="publisher")
    assert not ola.user_permissions.exists()


def test_what_changed_meanwhile_is_read_again(person: Make, ada: User) -> None:
    liv, ines = person("liv", "Writers"), person("ines", "Publishers")
    draft = Draft.objects.create(title="Swifts", saved_by=liv, created_by=liv)
    change_author.set_active(ines.pk, is_active=False, by=ada)
    with pytest.raises(AccountRefusedError, match="ines can no longer take over drafts"):
        change_author.hand_over(liv.pk, ines, ada)
    draft.refresh_from_db()
    assert draft.saved_by == liv
    with pytest.raises(AccountRefusedError, match="this account was deleted"):
        change_author.change_role(uuid.uuid4(), ROLES["writer"], ada)


def test_disabling_and_enabling_are_recorded(person: Make, window: WindowOf) -> None:
    ines = person("ines", "Publishers")
    hers = WindowOf(ines)
    for what, status in (("disable", 302), ("enable", 200)):
        assert window.get(f"{AUTHORS}{ines.pk}/{what}/").status == 200
        window.post(f"{AUTHORS}{ines.pk}/{what}/")
        assert hers.get("/admin/profile/").status == status
    said = [plain_sentence_of(entry) for entry in LogEntry.objects.order_by("pk")]
    assert said == ["ada disabled ines.", "ada enabled ines."]


def test_an_administrator_cannot_change_an_operators_account(
    person: Make, window: WindowOf
) -> None:
    root = person("root", is_superuser=True)
    assert "belongs to an operator" in window.get(f"{AUTHORS}{root.pk}/").words
    for what in ("disable", "role"):
        page = window.post(f"{AUTHORS}{root.pk}/{what}/", role="writer")
        assert "belongs to an operator" in page.words
    root.refresh_from_db()
    assert root.is_active
    assert not root.groups.exists()


def test_managers_who_give_up_the_role_land_on_their_profile(
    person: Make, window: WindowOf, ada: User
) -> None:
    person("ines", "Administrators")
    answer = window.post(f"{AUTHORS}{ada.pk}/role/", role="writer")
    assert answer.answer["Location"] == "/admin/profile/"


def test_drafts_are_handed_over_with_their_number(person: Make, window: WindowOf) -> None:
    liv, ines = person("liv", "Writers"), person("ines", "Publishers")
    person("ola", "Managers of readers")
    drafts = [Draft.objects.create(title=f"{n}", saved_by=liv, created_by=liv) for n in range(2)]
    page = window.get(f"{AUTHORS}{liv.pk}/hand-over/")
    assert "Open drafts 2" in page.words
    assert ">ines</option>" in page.html
    assert ">ola</option>" not in page.html
    assert window.post(f"{AUTHORS}{liv.pk}/hand-over/").status == 409
    window.post(f"{AUTHORS}{ines.pk}/hand-over/", successor=str(liv.pk))
    assert "ines has no open drafts." in window.get(AUTHORS).words
    window.post(f"{AUTHORS}{liv.pk}/hand-over/", successor=str(ines.pk))
    found = Draft.objects.filter(pk__in=[draft.pk for draft in drafts])
    assert {(one.saved_by, one.created_by, one.revision) for one in found} == {(ines, liv, 1)}
    [entry] = LogEntry.objects.all()
    assert plain_sentence_of(entry) == "ada handed over 2 drafts of liv to ines."


def test_the_admin_says_that_daily_work_is_elsewhere(person: Make) -> None:
    window = WindowOf(person("root", is_superuser=True))
    for page in ("", "newsletter_site/user/", "newsletter_site/user/add/"):
        shown = window.get(f"/admin/{page}")
        assert "For daily work, use the desk" in shown.words
        assert f'href="{AUTHORS}"' in shown.source


def test_sign_in_leads_to_the_first_page_one_may_open(person: Make) -> None:
    for group, address in (("Writers", "/admin/newsletters/issues/"), ("", "/admin/profile/")):
        name = group.lower() or "nobody"
        person(name, group)
        window = WindowOf(None)
        window.post("/admin/login/", username=name, password=PASSWORD)
        assert window.get("/admin/start/").answer["Location"] == address
