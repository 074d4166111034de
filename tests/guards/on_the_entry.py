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
        "tests/test_entry_script.py::"
        "test_after_an_installation_that_failed_the_server_goes_on_as_before",
    ),
    guard(
        "no demo and no test is started on a server",
        "homing",
        '    if command in ("demo", "test"):\n',
        "    if False:\n",
        f"{TESTS}test_on_a_server_there_is_no_demo_and_no_test",
    ),
    guard(
        "on a server no command speaks of another database",
        "homing",
        '    if not given("DATABASE_URL"):\n',
        "    if False:\n",
        f"{TESTS}test_on_a_server_no_command_speaks_of_another_database",
    ),
    guard(
        "outside debug every command says that no database was named",
        "newsletter_site/checks.py",
        "    if not settings.DEBUG and not settings.DATABASE_IS_NAMED:\n",
        "    if False:\n",
        "tests/newsletter_site/test_checks_before_deploying.py::"
        "test_a_database_that_nobody_named_is_said_outside_debug",
    ),
]
