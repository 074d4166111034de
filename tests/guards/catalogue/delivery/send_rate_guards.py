"""Guards of the rate limit that all workers share."""

from tests.guards.notation import guards

GUARDS = guards(r"""
429 answers to simultaneous calls halve the rate once
    slow_down: < (SELECT «started_at → clock_timestamp() + interval '1 hour'» FROM attempt WHERE id
    test_calls_in_flight_together_halve_the_rate_once
a 429 slows all workers down
    Dispatcher._settle: if «was_too_fast(result) → False»:
    test_with_a_ceiling_a_429_halves_the_ceiling
no worker calls right after a 429
    slow_down: Greatest("next_claim_at", Now() «+ quiet»)
    test_no_worker_calls_in_the_first_second
no worker calls before the time that the provider named
    quiet_s: return «max(SHORTEST_BREATH_S, retry_after_s or 0.0) → SHORTEST_BREATH_S»
    test_no_worker_calls_before_retry_after
while the rate is limited no batch goes before its slot
    claim_batch: AND NOT («p_unless_slowed → false» AND EXISTS
    test_after_a_429_batches_wait_for_their_permit
a worker takes its slot no earlier than it is due
    acquire_permit: FROM send_rate WHERE next_claim_at «<= clock_timestamp() → IS NOT NULL»
    test_rate_limit_applies_to_all_workers_together
one of many workers takes the slot
    acquire_permit: «FOR UPDATE SKIP LOCKED»") row
    test_one_slowed_worker_claims_per_permit
a slot that another worker is taking is not waited for
    acquire_permit: FOR UPDATE «SKIP LOCKED»") row
    test_a_claim_does_not_wait_for_a_permit_being_acquired
a slot delays the next one by its size
    claim: «shared_send_rate.consume_permit(cursor, permitted_per_s, claimed.waiting) → pass»
    test_rate_limit_applies_to_all_workers_together
the rate has a minimum
    after_too_fast: to_per_s=«max(rate / 2, floor) → rate / 2»
    test_the_rate_never_falls_below_the_floor
""")
