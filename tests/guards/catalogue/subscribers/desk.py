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
    correct_address: if «old.unsubscribed_at is not None or old.state ==
        Subscriber.State.COMPLAINED → False»:
    test_a_reader_who_left_gets_no_other_address
a correction goes to no suppressed address
    correct_address: if «reason := skip_reason(known, key) → reason := None»:
    test_an_address_in_use_or_suppressed_is_refused
an edit keeps the topics off that a reader left
    edit_reader: sorted({*tags} «- {*reader.declined}»)
    test_a_left_topic_cannot_be_put_on
an edit overwrites no change that its author has not seen
    edit_reader: if «seen not in (None, last_edit(reader)) → False»:
    test_an_edit_overwrites_no_later_change
""")
