"""The decision about who may publish when approval is required."""

import uuid

import pytest

from publishing.approval.approval_rules import ApprovalRule, Verdict, has_too_few, judge

WRITER, A, B = (uuid.UUID(int=number) for number in (1, 2, 3))
OFF, STRICT, LAX = (
    ApprovalRule(is_required, approver_may_publish)
    for is_required, approver_may_publish in ((False, False), (True, False), (True, True))
)


@pytest.mark.parametrize(
    ("rule", "writer", "approver", "publisher", "verdict"),
    [
        (OFF, A, None, A, Verdict.ALLOWED),
        (OFF, A, A, A, Verdict.ALLOWED),
        (STRICT, WRITER, None, A, Verdict.NOT_APPROVED),
        (STRICT, WRITER, A, B, Verdict.ALLOWED),
        (STRICT, WRITER, A, A, Verdict.APPROVER_PUBLISHES),
        (STRICT, A, B, A, Verdict.ALLOWED),
        (STRICT, B, B, A, Verdict.ALLOWED),
        (STRICT, A, A, A, Verdict.APPROVER_PUBLISHES),
        (LAX, WRITER, None, A, Verdict.NOT_APPROVED),
        (LAX, WRITER, A, B, Verdict.ALLOWED),
        (LAX, WRITER, A, A, Verdict.ALLOWED),
        (LAX, A, B, A, Verdict.ALLOWED),
        (LAX, B, B, A, Verdict.ALLOWED),
        (LAX, A, A, A, Verdict.OWN_WORDS),
        (LAX, None, A, A, Verdict.OWN_WORDS),  # The writer's account was deleted.
    ],
)
def test_two_people_stand_behind_every_publication(rule, writer, approver, publisher, verdict):
    found = judge(rule, publisher=publisher, approver=approver, writer=writer)
    assert found is verdict


@pytest.mark.parametrize("rule", [OFF, STRICT, LAX])
@pytest.mark.parametrize("publishers", [0, 1, 2, 3])
def test_a_required_approval_needs_two_publishers(rule, publishers):
    assert has_too_few(rule, publishers) == (rule.is_required and publishers < 2)
