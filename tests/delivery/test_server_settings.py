"""Server settings that make sending slower or less safe are found and named."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from delivery.check_settings import find_server_problems, load_server_problems
from delivery.worker.call_slots import connections_needed


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((False, True, "on", 100), None),
        ((False, True, "local", 36), None),
        ((True, True, "on", 100), "delivery.W004"),
        ((False, False, "on", 100), "delivery.W005"),
        ((False, True, "off", 100), "delivery.W005"),
        ((False, True, "remote_apply", 100), "delivery.W006"),
        ((False, True, "on", 35), "delivery.W007"),
        ((False, True, "on", 100, "SQL_ASCII"), "delivery.E002"),
    ],
)
def test_each_costly_setting_is_a_problem(found: tuple[Any, ...], expected: str | None) -> None:
    problems = [problem.id for problem in find_server_problems(*found, needed=36)]
    assert problems == ([expected] if expected else [])


def test_needed_connections_are_those_of_the_deployment_guide() -> None:
    # docs/deploy.md, “Size”: a worker with four processes needs 36 connections, and a web process
    # 14.
    assert connections_needed(processes=4, concurrency=4) == 36 + 14


def found_ids() -> set[str]:
    with connection.cursor() as cursor:
        return {problem.id for problem in load_server_problems(cursor)}


@pytest.mark.django_db
def test_values_of_the_session_and_limits_of_the_database_count() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL jit = on; SET LOCAL synchronous_commit = remote_apply")
        cursor.execute("SELECT pg_jit_available(), current_database()")
        has_compiler, database = cursor.fetchone()
        assert ("delivery.W004" in found_ids()) is has_compiler
        assert "delivery.W006" in found_ids()
        assert "delivery.W007" not in found_ids()
        cursor.execute(f'ALTER DATABASE "{database}" CONNECTION LIMIT 20')
        assert "delivery.W007" in found_ids()


@pytest.mark.django_db
def test_plain_check_names_the_setting_and_what_to_do() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = remote_apply")
    shown = StringIO()
    call_command("check", stderr=shown)
    assert "(delivery.W006) PostgreSQL's setting synchronous_commit" in shown.getvalue()
    assert "HINT: Set it to on." in shown.getvalue()


@pytest.mark.django_db
def test_functions_that_forbid_plans_are_never_compiled() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT proname, 'jit=off' = ANY(proconfig) FROM pg_proc
            WHERE pronamespace = current_schema()::regnamespace
              AND EXISTS (SELECT FROM unnest(proconfig) AS setting WHERE setting LIKE 'enable_%')
            """
        )
        functions = dict(cursor.fetchall())
    assert {"claim_batch_1", "start_batch_1", "settle_batch_1", "readers_who_get_no_copy_1"} <= set(
        functions
    )
    assert [name for name, is_off in functions.items() if not is_off] == []
