"""Guards of the one entry, `./homing`, where a site is running."""

from tests.guards.notation import guards

GUARDS = guards(r"""
an environment is changed beside what runs in it
    make: remove(new) «→ ¶remove(venv)»
    test_after_an_installation_that_failed_the_server_goes_on_as_before
no demo and no test is started on a server
    refuse_without_settings: if «command in ("demo", "test") → False»:
    test_on_a_server_there_is_no_demo_and_no_test
on a server no command speaks of another database
    refuse_without_settings: if «not given("DATABASE_URL") → False»:
    test_on_a_server_no_command_speaks_of_another_database
outside debug every command says that no database was named
    check_database_is_named: if «not settings.DEBUG and not settings.DATABASE_IS_NAMED → False»:
    test_a_database_that_nobody_named_is_said_outside_debug
""")
