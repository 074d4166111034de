"""Guards of who may do what: permissions, and the second person."""

from tests.guards.notation import guards

GUARDS = guards(r"""
where it takes two nothing is published without a second
    second_of: if «takes_two and second is None → False»:
    test_where_it_takes_two_nothing_is_published_without_a_second
nobody is their own second
    second_of: second = approved_by «if approved_by != publisher else None»
    test_nobody_is_their_own_second
who publishes while it is switched on waits, and is refused
    second_of: «FOR SHARE»
    test_who_publishes_while_the_setting_is_switched_on_waits_for_it_and_is_refused
    test_who_switches_it_on_waits_for_what_is_being_published
an approval is of the words that were seen
    approve: if «approval_hash(found, content) != seen → False»:
    test_nobody_approves_words_that_they_did_not_see
an approval is of the revision that was read
    approve: pk=draft«, revision=found.revision, edition__isnull=True»
    test_a_draft_that_is_saved_at_the_same_moment_is_not_approved_in_its_new_words
any edit takes an approval away
    _is_of_these_words: «bytes(draft.approved_hash) == approval_hash(draft, content) → True»
    test_any_edit_takes_it_away_and_its_undoing_brings_it_back
an approval goes with the right of its giver
    second_of: if «second is not None and not may(second, PUBLISH) → False»:
    test_a_second_who_may_no_longer_publish_is_none
a page of the desk is open to those with its permission alone
    Guard.__call__.guarded: «raise PermissionDenied(self._refusal) → pass»
    test_an_address_is_open_to_its_groups_and_to_nobody_else[desk:write]
a newsletter without a name of its own is said to whoever may name it
    desk_facts: if «viewer.names and not newsletter.is_named → False»:
    test_whoever_may_change_it_reads_on_the_desk_that_it_has_no_name_of_its_own
only who may name the newsletter is asked to
    desk_facts: if «viewer.names and» not newsletter.is_named:
    test_of_the_name_the_desk_asks_nobody_who_may_not_change_it
the check of a draft says that the newsletter has no name of its own
    _newsletter: if «not context.is_named → False»:
    test_the_check_of_a_draft_says_that_the_newsletter_has_no_name_of_its_own
""")
