"""Guards of the entry script `./homing` on a server."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a new environment is built beside the one in use
    make: remove(new) «→ ¶remove(venv)»
    test_a_failed_installation_leaves_the_environment
demo and tests are refused on a server
    refuse_without_settings: if «command in ("demo", "test") → False»:
    test_demo_and_test_are_refused_on_a_server
on a server no command uses another database
    refuse_without_settings: if «not setting("DATABASE_URL") → False»:
    test_on_a_server_no_command_uses_another_database
outside debug every command reports a missing DATABASE_URL
    check_database_is_named: if «not settings.DEBUG and not settings.DATABASE_IS_NAMED → False»:
    test_an_unset_database_is_reported_outside_debug
""")
