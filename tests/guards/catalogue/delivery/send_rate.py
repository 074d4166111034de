"""Guards of the pace that all workers share."""

from tests.guards.notation import guards

GUARDS = guards(r"""
refusals of calls that were in the air together halve the pace once
    slow_down: < (SELECT «started_at → clock_timestamp() + interval '1 hour'» FROM attempt WHERE id
    test_calls_in_flight_together_halve_it_once
a 429 slows all workers down
    Dispatcher._settle: if «was_too_fast(result) → False»:
    test_under_a_ceiling_half_of_it_is_left
nobody calls right after a 429
    slow_down: clock_timestamp() + «→ 0 *» make_interval(secs => %s))", [quiet_s(retry_after_s)]
    test_nobody_calls_in_the_first_second_after_it
nobody calls before the time that the provider named
    quiet_s: return «max(SHORTEST_BREATH_S, retry_after_s or 0.0) → SHORTEST_BREATH_S»
    test_nobody_calls_before_the_time_that_the_provider_named
while workers are slowed down no batch goes before its turn
    claim: provided=«f"NOT {IS_SLOWED}" → "true"»
    test_after_a_429_no_batch_goes_before_its_turn
a turn is taken when it is due
    acquire_permit: FROM send_rate WHERE next_claim_at «<= clock_timestamp() → IS NOT NULL»
    test_the_ceiling_on_copies_per_second_holds_over_all_workers
of a crowd one takes the turn
    acquire_permit: «FOR UPDATE SKIP LOCKED»") row
    test_of_a_crowd_that_was_slowed_down_one_claims_in_each_turn
a turn that another is taking is not waited for
    acquire_permit: FOR UPDATE «SKIP LOCKED»") row
    test_a_turn_that_another_is_taking_is_not_waited_for
a turn puts the next one off by what it took
    claim: «send_rate.consume_permit(cursor, permitted_per_s, claimed.waiting) → pass»
    test_the_ceiling_on_copies_per_second_holds_over_all_workers
a pace has a floor
    after_too_fast: to_per_s=«max(pace / 2, floor) → pace / 2»
    test_it_never_falls_below_the_floor
""")
