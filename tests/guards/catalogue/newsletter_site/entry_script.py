"""Guards of the one entry, `./homing`, where a site is running."""

from tests.guards.notation import guards

GUARDS = guards(r"""
an environment is changed beside what runs in it
    make: remove(new) «→ ¶remove(venv)»
    test_a_failed_installation_leaves_the_environment
no demo and no test is started on a server
    refuse_without_settings: if «command in ("demo", "test") → False»:
    test_demo_and_test_are_refused_on_a_server
on a server no command speaks of another database
    refuse_without_settings: if «not given("DATABASE_URL") → False»:
    test_on_a_server_no_command_uses_another_database
outside debug every command says that no database was named
    check_database_is_named: if «not settings.DEBUG and not settings.DATABASE_IS_NAMED → False»:
    test_an_unset_database_is_reported_outside_debug
""")
