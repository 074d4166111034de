"""Guards of permissions, and of a second person's approval."""

from tests.guards.notation import guards

GUARDS = guards(r"""
with required approval nothing is published without a second person
    second_of: if «needs_second and second is None → False»:
    test_where_it_takes_two_nothing_is_published_without_a_second
authors cannot approve their own draft
    second_of: second = approved_by «if approved_by != publisher else None»
    test_nobody_is_their_own_second
a publication that waits while approval becomes required is refused
    second_of: «FOR SHARE»
    test_who_publishes_while_the_setting_is_switched_on_waits_for_it_and_is_refused
    test_who_switches_it_on_waits_for_what_is_being_published
an approval covers the text that was seen
    approve: if «approval_hash(found, content) != seen → False»:
    test_nobody_approves_words_that_they_did_not_see
an approval covers the revision that was read
    approve: pk=draft«, revision=found.revision, edition__isnull=True»
    test_a_draft_that_is_saved_at_the_same_moment_is_not_approved_in_its_new_words
any edit removes an approval
    _is_current: «bytes(draft.approved_hash) == approval_hash(draft, content) → True»
    test_any_edit_takes_it_away_and_its_undoing_brings_it_back
an approval ends with the permission of its giver
    second_of: if «second is not None and not may(second, PUBLISH) → False»:
    test_a_second_who_may_no_longer_publish_is_none
a page of the desk needs its permission
    Guard.__call__.guarded: «raise PermissionDenied(str(self._refusal)) → pass»
    test_an_address_is_open_to_its_groups_and_to_nobody_else[desk:write]
a missing newsletter name is shown to users who may set it
    desk_context: if «viewer.names and not newsletter.is_named → False»:
    test_whoever_may_change_it_reads_on_the_desk_that_it_has_no_name_of_its_own
only users who may set the newsletter's name are asked to
    desk_context: if «viewer.names and» not newsletter.is_named:
    test_of_the_name_the_desk_asks_nobody_who_may_not_change_it
the check of a draft reports a missing newsletter name
    _newsletter: if «not newsletter.is_named → False»:
    test_the_check_of_a_draft_says_that_the_newsletter_has_no_name_of_its_own
""")
