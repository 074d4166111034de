"""Guards of the pace that all workers share."""

from __future__ import annotations

from tests.guards.guard import guard

QUEUE = "delivery/queue/pace.py"
PACE = "delivery/pace.py"

AFTER_429 = "tests/delivery/test_pace_after_a_429.py::"
MANY = "tests/delivery/test_pace_of_many_workers.py::"
DECISIONS = "tests/delivery/test_pace_decisions.py::"

GUARDS = [
    guard(
        "refusals of calls that were in the air together halve the pace once",
        QUEUE,
        "OR slowed_at < (SELECT started_at FROM attempt WHERE id = %s)",
        "OR slowed_at < (SELECT clock_timestamp() + interval '1 hour' FROM attempt WHERE id = %s)",
        f"{AFTER_429}test_calls_that_were_in_the_air_together_halve_it_once",
    ),
    guard(
        "a 429 slows all workers down",
        "delivery/dispatch.py",
        "        if was_too_fast(answer):\n",
        "        if False:\n",
        f"{AFTER_429}test_under_a_ceiling_half_of_it_is_left",
    ),
    guard(
        "nobody calls right after a 429",
        QUEUE,
        'clock_timestamp() + make_interval(secs => %s))",\n            [breath_s(retry_after_s)],',
        'clock_timestamp() + 0 * make_interval(secs => %s))",\n'
        "            [breath_s(retry_after_s)],",
        f"{AFTER_429}test_nobody_calls_in_the_first_second_after_it",
    ),
    guard(
        "nobody calls before the time that the provider named",
        PACE,
        "return max(SHORTEST_BREATH_S, retry_after_s or 0.0)",
        "return SHORTEST_BREATH_S",
        f"{AFTER_429}test_nobody_calls_before_the_time_that_the_provider_named",
    ),
    guard(
        "while workers are slowed down no batch goes before its turn",
        "delivery/queue/claim.py",
        'provided=f"NOT {IS_SLOWED}"',
        'provided="true"',
        f"{AFTER_429}test_after_it_no_batch_of_any_edition_goes_before_its_turn",
    ),
    guard(
        "a turn is taken when it is due",
        QUEUE,
        "FROM pace WHERE next_claim_at <= clock_timestamp() ",
        "FROM pace WHERE next_claim_at IS NOT NULL ",
        "tests/delivery/test_claiming_a_batch.py::"
        "test_the_ceiling_on_copies_per_second_holds_over_all_workers",
    ),
    guard(
        "of a crowd one takes the turn",
        QUEUE,
        '        "FOR UPDATE SKIP LOCKED"\n',
        '        ""\n',
        f"{MANY}test_of_a_crowd_that_was_slowed_down_one_claims_in_each_turn",
    ),
    guard(
        "a turn that another is taking is not waited for",
        QUEUE,
        '        "FOR UPDATE SKIP LOCKED"\n',
        '        "FOR UPDATE"\n',
        f"{MANY}test_a_turn_that_another_is_taking_is_not_waited_for",
    ),
    guard(
        "a turn puts the next one off by what it took",
        "delivery/queue/claim.py",
        "            use_turn(cursor, turn, claimed.waiting)",
        "            pass",
        "tests/delivery/test_claiming_a_batch.py::"
        "test_the_ceiling_on_copies_per_second_holds_over_all_workers",
    ),
    guard(
        "a pace has a floor",
        PACE,
        "to_per_s=max(pace / 2, floor)",
        "to_per_s=pace / 2",
        f"{DECISIONS}test_it_never_falls_below_the_floor",
    ),
]
