"""Guards of rehearsals: nothing is sent, and the report is of what was asked."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a rehearsal that was cancelled writes no report
    _leased: epoch=rehearsal.epoch«, state=State.RUNNING»
    test_a_cancelled_rehearsal_ends_without_a_report
a worker that stops gives its rehearsal back
    _save_progress: if «is_stopping() → False»:
    test_a_stopped_worker_leaves_the_rehearsal_to_another
a rehearsal is of the text that was asked for
    run_next_rehearsal: elif draft.edition_id «or bytes(rehearsal.fingerprint) !=
        fingerprint(draft)»:
    test_a_draft_changed_before_its_turn_is_not_rehearsed
a published draft is not rehearsed
    request_rehearsal: if «draft.edition_id or» find_problems(
    test_a_published_draft_is_not_rehearsed
the check sheet shows a rehearsal of this text only
    current_rehearsal: newest if newest «and bytes(newest.fingerprint) == fingerprint(draft)»
    test_a_report_of_an_earlier_text_says_so
""")
