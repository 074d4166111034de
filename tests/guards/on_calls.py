"""Guards of a call and its answer: in time, once, and believed only as far as it is clear."""

from __future__ import annotations

from tests.guards.guard import guard

CLIENT = "delivery/postmark.py"
CUT = "delivery/cut_message.py"
DEADLINES = "delivery/deadlines.py"
IN_FLIGHT = "delivery/calls_in_flight.py"
ANSWERS = "delivery/classification.py"
RETRIES = "delivery/retries.py"
WRITING = "delivery/write_down.py"

CUTTING = "tests/delivery/test_cut_messages.py::"
AT_ONCE = "tests/delivery/test_calls_in_flight.py::"
IN_TIME = "tests/delivery/test_deadlines.py::"
NETWORK = "tests/delivery/test_postmark_client_and_the_network.py::"
SEARCHES = "tests/delivery/test_postmark_client_searches.py::"
A_CALL = "tests/delivery/test_classification_of_a_call.py::"
A_MESSAGE = "tests/delivery/test_classification_of_a_message.py::"
A_SEARCH = "tests/delivery/test_classification_of_a_search.py::"
AFTER_CALL = "tests/delivery/test_retries_after_a_call.py::"
SETTLING = "tests/delivery/test_settling_a_call.py::"
FAULTS = "tests/delivery/test_faults_of_the_account.py::"
KNOWN = "tests/delivery/test_writing_down_what_is_known.py::"
STEP = "tests/delivery/test_one_step_of_a_worker.py::"

GUARDS = [
    # --- The message ------------------------------------------------------------------------------
    guard(
        "a reader's own value is escaped for the HTML around it",
        CUT,
        "orjson.dumps(escape(values[name]) if in_html else values[name])[1:-1]",
        "orjson.dumps(values[name])[1:-1]",
        f"{CUTTING}test_a_value_is_escaped_for_where_it_stands",
    ),
    guard(
        "a reader's own value cannot end the JSON text it stands in",
        CUT,
        "orjson.dumps(escape(values[name]) if in_html else values[name])[1:-1]",
        "(escape(values[name]) if in_html else values[name]).encode()",
        f"{CUTTING}test_a_value_is_escaped_for_where_it_stands",
    ),
    guard(
        "readers without a name get the author's own word in its place",
        "delivery/message.py",
        'field: "" if lacking.get(name) else marks.of(name, in_html=in_html)',
        "field: marks.of(name, in_html=in_html)",
        f"{CUTTING}test_readers_with_and_without_a_name_share_no_fallback",
    ),
    # --- Deadlines --------------------------------------------------------------------------------
    guard(
        "an earlier deadline is not slept through",
        DEADLINES,
        "elif at_s < self._looks_at_s:",
        "elif False:",
        f"{IN_TIME}test_an_earlier_deadline_does_not_wait_for_a_later_one",
    ),
    guard(
        "a call that ended in time is let go by its deadline",
        DEADLINES,
        "self._ends.pop(number, None)",
        "self._ends.get(number)",
        f"{IN_TIME}test_what_was_taken_back_is_not_ended",
    ),
    # --- Calls at the same time -------------------------------------------------------------------
    guard(
        "no more calls are in the air than were wanted",
        "delivery/worker.py",
        "self._calls = CallsInFlight(concurrency)",
        "self._calls = CallsInFlight(self._threads)",
        f"{AT_ONCE}test_ahead_of_a_call_a_batch_is_made_ready_and_where_calls_hang_others_may_have_it",
    ),
    guard(
        "a place that comes free by the stop begins no call",
        IN_FLIGHT,
        "while not is_stopping():",
        "while True:",
        f"{AT_ONCE}test_a_place_that_comes_free_by_the_stop_itself_begins_no_call",
    ),
    guard(
        "a batch that is ready waits for its call no longer than a quick one takes",
        IN_FLIGHT,
        "longest_s = min(until_s, now_s() + QUICK_S)",
        "longest_s = until_s",
        f"{AT_ONCE}test_a_batch_that_waited_in_vain_ends_that_until_a_call_was_quick_again",
    ),
    guard(
        "where calls hang a batch is claimed for a free place alone",
        IN_FLIGHT,
        "                    self._is_quick = False",
        "                    pass",
        f"{AT_ONCE}test_a_batch_that_waited_in_vain_ends_that_until_a_call_was_quick_again",
    ),
    guard(
        "where calls are slow a batch is claimed for a free place alone",
        IN_FLIGHT,
        "self._is_quick, seconds <= QUICK_S",
        "self._is_quick, True",
        f"{AT_ONCE}test_a_call_that_was_not_quick_ends_that",
    ),
    guard(
        "a batch that is ready has its place before another is claimed",
        IN_FLIGHT,
        "self._free > self._ready",
        "self._free > 0",
        f"{AT_ONCE}test_a_batch_that_is_ready_has_its_place_before_another_is_claimed",
    ),
    # --- The call ---------------------------------------------------------------------------------
    guard(
        "a call whose time is over does not begin",
        CLIENT,
        "        if remaining <= 0:\n            return NotSent(",
        "        if False:\n            return NotSent(",
        f"{NETWORK}test_a_call_whose_time_is_over_does_not_even_connect",
    ),
    guard(
        "not a byte is written after the deadline",
        CLIENT,
        "if self.over or remaining <= 0:",
        "if False:",
        f"{NETWORK}test_not_a_byte_is_written_when_the_time_ran_out_while_connecting",
    ),
    guard(
        "nothing is sent a second time by itself",
        CLIENT,
        "super().__init__(max_retries=0,",
        'super().__init__(max_retries=__import__("urllib3").Retry(2, allowed_methods=None),',
        f"{NETWORK}test_nothing_is_ever_sent_a_second_time_by_itself",
    ),
    guard(
        "a redirect is not followed",
        CLIENT,
        "resp: requests.Response) -> None:\n        return None",
        "resp: requests.Response) -> None:\n        return super().get_redirect_target(resp)",
        f"{NETWORK}test_a_redirect_is_not_followed",
    ),
    guard(
        "what broke after the first byte may have been accepted",
        CLIENT,
        "            if not call.wrote:\n",
        "            if True:\n",
        f"{NETWORK}test_whatever_breaks_after_the_first_byte_leaves_the_call_unanswered",
    ),
    guard(
        "an answer is read to a bound",
        CLIENT,
        "if len(content) > LONGEST_ANSWER_BYTES:",
        "if False:",
        f"{NETWORK}test_an_answer_longer_than_any_is_not_read_to_its_end",
    ),
    guard(
        "a list is read to a bound",
        CLIENT,
        "if length > LONGEST_LIST_BYTES:",
        "if False:",
        f"{NETWORK}test_a_list_longer_than_any_is_not_read_to_its_end",
    ),
    guard(
        "an answer is never read as the answer to the next call",
        CLIENT,
        "                self._session.close()\n            return RawAnswer",
        "                pass\n            return RawAnswer",
        f"{NETWORK}test_after_anything_but_a_plain_200_the_next_call_has_a_connection_of_its_own",
    ),
    guard(
        "the deadline of a call that is done does not end the next",
        CLIENT,
        "            call.let_go()",
        "            pass",
        f"{NETWORK}test_the_deadline_of_a_call_that_is_done_does_not_end_the_next",
    ),
    guard(
        "bytes that were never acknowledged do not outlive the deadline",
        CLIENT,
        'if hasattr(socket, "TCP_USER_TIMEOUT"):',
        "if False:",
        f"{NETWORK}test_bytes_that_were_never_acknowledged_do_not_outlive_the_deadline",
    ),
    guard(
        "proxies and passwords of the environment are left alone",
        CLIENT,
        "        self._session.trust_env = False\n",
        "",
        f"{NETWORK}test_proxies_and_passwords_of_the_environment_are_left_alone",
    ),
    # --- Its answer -------------------------------------------------------------------------------
    guard(
        "an answer of another length than the call is none",
        ANSWERS,
        "    if len(parsed) != len(addresses):\n",
        "    if False:\n",
        f"{A_CALL}test_a_200_that_is_not_one_result_a_message_leaves_all_open",
    ),
    guard(
        "an answer that names another address is not this message's",
        ANSWERS,
        "if isinstance(to, str) and not _names(to, address):",
        "if False:",
        f"{A_CALL}test_results_in_another_order_than_sent_are_not_taken_for_each_other",
    ),
    guard(
        "one id for two messages is evidence for neither",
        ANSWERS,
        "times[answer.message_id] > 1",
        "times[answer.message_id] > 1000",
        f"{A_CALL}test_one_id_for_two_messages_is_evidence_for_neither",
    ),
    guard(
        "a server error leaves open what was accepted",
        ANSWERS,
        "if status < 300 or status >= 500:",
        "if status < 300:",
        f"{A_CALL}test_a_server_error_leaves_open_what_was_accepted",
    ),
    guard(
        "a success of something in between leaves open what was accepted",
        ANSWERS,
        "if status < 300 or status >= 500:",
        "if status >= 500:",
        f"{A_CALL}test_another_success_than_200_leaves_open_what_was_accepted",
    ),
    guard(
        "an error inside the provider leaves a message open",
        ANSWERS,
        "    if code == INTERNAL_ERROR:\n        return Unanswered(",
        "    if False:\n        return Unanswered(",
        f"{A_MESSAGE}test_101_is_an_error_of_the_provider_that_leaves_the_message_open",
    ),
    guard(
        "an error inside the provider leaves a call open",
        ANSWERS,
        "    if code == INTERNAL_ERROR:\n        return CallUnanswered(",
        "    if False:\n        return CallUnanswered(",
        f"{A_CALL}test_code_101_leaves_open_what_was_accepted_under_any_status",
    ),
    guard(
        "an acceptance has an id",
        ANSWERS,
        "if message_id is None or (code is None",
        "if (code is None",
        f"{A_MESSAGE}test_an_acceptance_without_a_usable_id_is_none",
    ),
    # --- What follows -----------------------------------------------------------------------------
    guard(
        "a call without an answer is asked about and not sent again",
        RETRIES,
        "fates={recipient: Unknown() for recipient in recipients},\n                next=Next.ASK",
        "fates={},\n                next=Next.TRY_AGAIN",
        f"{AFTER_CALL}test_a_call_answered_as_a_whole",
    ),
    guard(
        "a message without an answer is asked about and not sent again",
        RETRIES,
        "                fates[recipient] = Unknown()\n",
        "                put_off[recipient] = reason\n",
        f"{AFTER_CALL}test_messages_answered_one_by_one",
    ),
    guard(
        "a call that is too large goes in halves",
        RETRIES,
        "next=Next.HALVE, reason=reason)",
        "next=Next.TRY_AGAIN, reason=reason)",
        f"{SETTLING}test_a_call_that_is_too_large_goes_in_halves",
    ),
    guard(
        "what the provider did not judge uses up no try",
        RETRIES,
        "        delay_s=max(delay, retry_after_s or 0.0),\n        reason=reason,\n",
        "        delay_s=max(delay, retry_after_s or 0.0),\n        reason=reason,\n"
        "        counts_as_try=True,\n",
        f"{AFTER_CALL}test_what_the_provider_did_not_judge_uses_up_no_try_even_after_many",
        f"{SETTLING}test_a_call_that_was_put_off_waits_and_goes_again_without_using_up_a_try",
    ),
    guard(
        "a message has only so many tries",
        RETRIES,
        "    if tries + 1 >= policy.max_tries:\n        used_up = {\n",
        "    if False:\n        used_up = {\n",
        f"{AFTER_CALL}test_the_last_try_that_is_put_off_is_missed_and_says_so",
    ),
    guard(
        "calls that are refused before the provider stop the edition in the end",
        RETRIES,
        "if blocked + 1 < BLOCKED_CALLS_BEFORE_STOPPING:",
        "if True:",
        f"{AFTER_CALL}test_refused_before_the_provider_three_times_in_a_row_it_is_a_matter_for_a_"
        "person",
    ),
    guard(
        "a provider that refuses is not asked in a tight loop",
        RETRIES,
        "return max(SHORTEST_PAUSE_S, jitter * span)",
        "return jitter * span",
        f"{AFTER_CALL}test_a_pause_is_drawn_from_next_to_nothing_to_a_doubling_span_with_a_ceiling",
    ),
    # --- Writing down what only this worker knows -------------------------------------------------
    guard(
        "an answer is written down again while the database is away",
        "delivery/dispatch.py",
        "        write_down(\n            lambda: settle_call(claimed, attempt, settlement, "
        "result_of(answer)),\n",
        "        (lambda write, **_: write())(\n            lambda: settle_call(claimed, attempt, "
        "settlement, result_of(answer)),\n",
        f"{STEP}test_an_answer_is_not_lost_when_the_line_to_the_database_was_cut_during_the_call",
    ),
    guard(
        "an error about data is not tried again",
        WRITING,
        "            if not is_trouble(error):\n                raise\n",
        "",
        f"{KNOWN}test_an_error_about_data_is_raised_at_once",
    ),
    guard(
        "one thread of a worker looks up, the others go on",
        "delivery/dispatch.py",
        "if not self._look_ups.acquire(blocking=False):",
        "if not (self._look_ups.acquire(blocking=False) or True):",
        f"{STEP}test_while_one_thread_looks_up_the_others_go_on_sending_and_leave_doubt_to_it",
    ),
    # --- Searching --------------------------------------------------------------------------------
    guard(
        "a search that hides some of what it has is no information",
        CLIENT,
        "        if listed < total:\n",
        "        if False:\n",
        f"{SEARCHES}test_a_search_that_hides_some_of_what_it_has_is_no_information",
    ),
    guard(
        "a search names the stream",
        CLIENT,
        '                    "messagestream": stream,\n',
        "",
        f"{SEARCHES}test_a_search_names_the_stream_because_postmark_takes_another_by_itself",
    ),
    guard(
        "a page that failed makes the search no information",
        CLIENT,
        "            if isinstance(page, NoInformation):\n                return page\n",
        "            if isinstance(page, NoInformation):\n                break\n",
        f"{SEARCHES}test_a_page_that_fails_makes_the_whole_search_no_information",
    ),
    guard(
        "a hit of a search is believed by what it bears",
        ANSWERS,
        "if metadata.get(field_name) != value:",
        "if False:",
        f"{A_SEARCH}test_what_does_not_bear_the_value_asked_for_is_not_found",
    ),
    guard(
        "a hit that cannot be read does not count as absent",
        ANSWERS,
        "            # It is there, but whose it is cannot be told: it must not count as absent.\n"
        "            return unreadable\n",
        "            continue\n",
        f"{A_SEARCH}test_what_cannot_be_read_is_no_information_and_not_an_absence",
    ),
]
