"""Guards of readers on the desk: consent first, and the reader's choice wins."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- Adding and editing ---
a reader is added as confirmed only with a stated consent
    add_reader: CONFIRMED «if consent → if source == Source.DESK» else
    test_an_added_reader_is_asked_to_confirm
a corrected address is mailed nothing but a confirmation
    correct_address: «leave(old.pk, → (lambda *_, **__: None)(old.pk,» How.OPERATOR
    test_a_corrected_address_must_confirm_again
a reader who left is not moved to another address
    why_address_stays: if «reader.unsubscribed_at is not None or reader.state ==
        Subscriber.State.COMPLAINED → False»:
    test_a_reader_who_left_gets_no_other_address
a pending reader who left elsewhere is not moved to another address
    why_address_stays: if «left.filter(reason__in=[Reason.UNSUBSCRIBE, Reason.COMPLAINT]).exists() →
        False»:
    test_a_reader_who_left_gets_no_other_address
a correction goes to no suppressed address
    correct_address: if «reason := skip_reason(known, key) → reason := None»:
    test_an_address_in_use_or_suppressed_is_refused
an edit keeps the topics off that a reader left
    edit_reader: lock_tags({*tags} «- {*reader.left_topics}»)
    test_a_left_topic_cannot_be_put_on

# --- Changes of many readers ---
a change affects no reader who was added after the question
    Selection.readers: «found.filter(pk__lte=self.up_to) if self.up_to else found → found»
    test_all_found_readers_change_and_later_ones_do_not
a change puts no topic on a reader who left it
    _NEW_TAGS: tags_without_1(tags_with_1(tags, «left_topics → '{{}}'»,
    test_selected_readers_get_a_tag_once
    test_a_topic_left_meanwhile_stays_off
""")
