"""Guards of permissions, and of a second person's approval."""

from tests.guards.notation import guards

GUARDS = guards(r"""
with required approval nothing is published without a second person
    second_of: if «verdict is not Verdict.ALLOWED → False»:
    test_required_approval_stops_publication_without_it
authors cannot approve their own draft
    judge: if «not rule.approver_may_publish → False»:
    test_two_people_stand_behind_every_publication
a publication that waits while approval becomes required is refused
    hold_newsletter: «FOR SHARE»
    test_publication_waits_for_the_approval_setting_and_is_refused
    test_switching_approval_on_waits_for_running_publications
an approval covers the text that was seen
    approve: if «approval_hash(found, content) != seen → False»:
    test_unseen_version_is_not_approved
an approval covers the tags of the audience
    approval_hash: "tags": «[draft.with_tags, draft.without_tags] → None»,
    test_other_tags_need_another_approval
an approval covers the revision that was read
    approve: pk=draft«, revision=found.revision, edition__isnull=True»
    test_concurrently_saved_text_is_not_approved
any edit removes an approval
    _is_current: «bytes(draft.approved_hash) == approval_hash(draft, content, columns) → True»
    test_any_edit_removes_the_approval_and_undoing_restores_it
an approval ends with the permission of its giver
    second_of: if «second is not None and not may(second, PUBLISH) → False»:
    test_approver_without_permission_does_not_count
an approval covers the composed mail
    approval_hash: «**{name: value for name, value in columns.items() if name != "content_hash"},»
    test_an_approval_is_for_the_mail_that_is_sent
    test_an_approval_covers_fallbacks_and_the_link_to_topics
an approval covers the sender
    approval_hash: «"sender": sender_lines(Newsletter.objects.get_current()),»
    test_an_approval_is_for_the_mail_that_is_sent
a scheduled issue does not start with an unapproved sender
    _pause_if_needed: if «outdated → False»:
    test_a_scheduled_issue_with_an_unapproved_sender_is_paused
only the approved sender resumes a held issue
    _awaits_approval: return «may_be_unsent and is_outdated(counts.edition) → False»
    test_a_scheduled_issue_with_an_unapproved_sender_is_paused
    test_a_paused_issue_needs_the_approved_sender_to_resume
an issue in its hold pauses if the sender is changed
    change_settings: «pause_held()»
    test_a_changed_sender_pauses_an_approved_issue_in_hold
a page of the desk needs its permission
    Guard.__call__.guarded: «raise PermissionDenied(str(self._refusal)) → pass»
    test_each_page_is_open_only_to_its_groups[desk:write]
""")
