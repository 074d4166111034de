"""Guards of who may do what: permissions, and the second person."""

from __future__ import annotations

from tests.guards.guard import guard

APPROVAL = "publishing/approval.py"
TWO = "tests/publishing/test_second_person.py::"
RIGHTS = "tests/publishing/test_permissions.py::"
NAMELESS = "tests/publishing/test_a_newsletter_without_a_name_of_its_own.py::"

GUARDS = [
    guard(
        "where it takes two nothing is published without a second",
        APPROVAL,
        "if takes_two and second is None:",
        "if False:",
        f"{TWO}test_where_it_takes_two_nothing_is_published_without_a_second",
    ),
    guard(
        "nobody is their own second",
        APPROVAL,
        "second = approved_by if approved_by != publisher else None",
        "second = approved_by",
        f"{TWO}test_nobody_is_their_own_second",
    ),
    guard(
        "who publishes while it is switched on waits, and is refused",
        APPROVAL,
        " FOR SHARE",
        "",
        f"{TWO}test_who_publishes_while_the_setting_is_switched_on_waits_for_it_and_is_refused",
        f"{TWO}test_who_switches_it_on_waits_for_what_is_being_published",
    ),
    guard(
        "an approval is of the words that were seen",
        APPROVAL,
        "if hash_to_approve(found, content) != seen:",
        "if False:",
        f"{TWO}test_nobody_approves_words_that_they_did_not_see",
    ),
    guard(
        "an approval is of the revision that was read",
        APPROVAL,
        "pk=draft, revision=found.revision, edition__isnull=True",
        "pk=draft",
        f"{TWO}test_a_draft_that_is_saved_at_the_same_moment_is_not_approved_in_its_new_words",
    ),
    guard(
        "any edit takes an approval away",
        APPROVAL,
        "return bytes(draft.approved_hash) == hash_to_approve(draft, content)",
        "return True",
        f"{TWO}test_any_edit_takes_it_away_and_its_undoing_brings_it_back",
    ),
    guard(
        "an approval goes with the right of its giver",
        APPROVAL,
        "if second is not None and not may(second, PUBLISH):",
        "if False:",
        f"{TWO}test_a_second_who_may_no_longer_publish_is_none",
    ),
    guard(
        "a page of the desk is open to those with its permission alone",
        "publishing/views/desk.py",
        'raise PermissionDenied(f"{refusal} Ask an operator for it.")',
        "pass",
        f"{RIGHTS}test_an_address_is_open_to_its_groups_and_to_nobody_else[desk:write]",
    ),
    guard(
        "a newsletter without a name of its own is said to whoever may name it",
        "publishing/overview.py",
        "    if newsletter.is_named or not viewer.names:\n",
        "    if True:\n",
        f"{NAMELESS}test_whoever_may_change_it_reads_on_the_desk_that_it_has_no_name_of_its_own",
    ),
    guard(
        "only who may name the newsletter is asked to",
        "publishing/overview.py",
        "if newsletter.is_named or not viewer.names:",
        "if newsletter.is_named:",
        f"{NAMELESS}test_of_the_name_the_desk_asks_nobody_who_may_not_change_it",
    ),
    guard(
        "the check of a draft says that the newsletter has no name of its own",
        "publishing/preflight/of_the_mail.py",
        "    if not facts.is_named:\n",
        "    if False:\n",
        f"{NAMELESS}test_the_check_of_a_draft_says_that_the_newsletter_has_no_name_of_its_own",
    ),
]
