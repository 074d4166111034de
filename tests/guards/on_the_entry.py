"""Guards of the one entry, `./homing`, where a site is running."""

from __future__ import annotations

from tests.guards.guard import guard

TESTS = "tests/test_entry_script_on_a_server.py::"

GUARDS = [
    guard(
        "an environment is changed beside what runs in it",
        "homing",
        "    remove(new)\n",
        "    remove(new)\n    remove(venv)\n",
        f"{TESTS}test_after_an_installation_that_failed_the_server_goes_on_as_before",
    ),
    guard(
        "no demo and no test is started on a server",
        "homing",
        '        if command in ("demo", "test"):\n',
        "        if False:\n",
        f"{TESTS}test_on_a_server_there_is_no_demo_and_no_test",
    ),
    guard(
        "what runs for real never begins a database of its own",
        "homing",
        'if command != "test" and debug_is_off() and not given("DATABASE_URL"):',
        "if False:",
        f"{TESTS}test_a_run_for_real_without_its_database_is_refused_before_anything_is_installed",
    ),
    guard(
        "settings never begin a database where DEBUG is off",
        "newsletter_site/settings.py",
        "elif DEBUG:\n    DATABASES",
        "elif True:\n    DATABASES",
        "tests/newsletter_site/test_settings_from_the_environment.py::"
        "test_what_a_real_run_needs_is_asked_for[DATABASE_URL]",
    ),
]
