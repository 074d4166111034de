"""
The schema editor under which `manage.py migrate` works: little patience, and nothing half done.

Every lock that its statements wait for they give up on soon, so that no worker queues behind them
for long. What is built concurrently waits as long as it must, because nobody queues behind that;
what such a build left behind when it was cut is taken away before the next try.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import Error, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.schema import DatabaseSchemaEditor
from django.db.backends.utils import CursorWrapper
from django.db.migrations import Migration
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Index, Model

from newsletter_site.migrating import guard
from newsletter_site.migrating.lock_holders import Wait
from newsletter_site.migrating.lock_timeouts import Patience
from newsletter_site.migrating.progress import Watch

CONCURRENTLY = "CONCURRENTLY"


class DoneMeanwhile(Exception):  # noqa: N818 -- news, not a fault
    """Somebody else has applied this migration since the plan was made."""


class LeftBehindError(Exception):
    """An index of this name is being built by a session that nobody waits for any more."""


@dataclass(slots=True)
class UnderWay:
    """
    What is being done, told by the command before each migration: which one, and which way.

    `say` is told what an index that is built concurrently waits for. `is_recorded` is set where
    the record was written in the migration's own transaction, and Django's comes after it.
    """

    patience: Patience
    watch: Watch
    say: Callable[[Wait], None]
    migration: Migration | None = None
    is_forwards: bool = True
    is_recorded: bool = False

    @property
    def names(self) -> list[tuple[str, str]]:
        """What is on record once the migration is applied: itself, or all that it replaces."""
        if self.migration is None:
            return []
        itself = (str(self.migration.app_label), self.migration.name)
        return [(str(app), name) for app, name in self.migration.replaces] or [itself]


@contextmanager
def patient(connection: BaseDatabaseWrapper, under_way: UnderWay) -> Iterator[None]:
    """Every schema editor of this connection is a patient one during the block."""
    # On this object alone, and taken off again: the class keeps its own.
    vars(connection)["SchemaEditorClass"] = partial(PatientSchemaEditor, under_way=under_way)
    try:
        yield
    finally:
        del vars(connection)["SchemaEditorClass"]


def forget_second_record(connection: BaseDatabaseWrapper, names: list[tuple[str, str]]) -> None:
    """Of what was recorded in its own transaction and once more after it, keep the first."""
    with connection.cursor() as cursor:
        for app, name in names:
            cursor.execute(
                "DELETE FROM django_migrations AS second USING django_migrations AS first "
                "WHERE (first.app, first.name) = (%s, %s) AND second.id > first.id "
                "AND (second.app, second.name) = (first.app, first.name)",
                [app, name],
            )


class PatientSchemaEditor(DatabaseSchemaEditor):
    """Django's, but for how it waits and what it leaves behind."""

    def __init__(
        self, connection: BaseDatabaseWrapper, *args: Any, under_way: UnderWay, **options: Any
    ) -> None:
        super().__init__(connection, *args, **options)
        self._under_way = under_way
        self._over: Any = None

    # --- A migration in a transaction -----------------------------------------------------------

    def __enter__(self) -> PatientSchemaEditor:
        super().__enter__()
        if self.atomic_migration:
            try:
                self._begin()
            except BaseException:
                self._end_atomic()
                raise
        return self

    def _begin(self) -> None:
        with self.connection.cursor() as cursor:
            guard.little_patience(cursor, self._under_way.patience.lock_s)
            cursor.execute("SELECT pg_backend_pid()")
            (session,) = cursor.fetchone()
            self._over = self._under_way.watch.over(session)
            self._over.__enter__()
            guard.the_next(cursor)
            self._look_again(cursor)

    def _look_again(self, cursor: CursorWrapper) -> None:
        """Read once more what is on record, now that nobody else's migration can be recorded."""
        if self._under_way.migration is None:
            return
        apps, names = zip(*self._under_way.names, strict=True)
        cursor.execute(
            "SELECT EXISTS (SELECT FROM django_migrations JOIN "
            "unnest(%s::text[], %s::text[]) AS one (app, name) USING (app, name))",
            [list(apps), list(names)],
        )
        (is_applied,) = cursor.fetchone()
        if is_applied == self._under_way.is_forwards:
            raise DoneMeanwhile

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        try:
            if exc_type is None and self.atomic_migration and self._under_way.migration:
                try:
                    self._finish()
                except BaseException:
                    self._end_atomic()
                    raise
            super().__exit__(exc_type, exc_value, traceback)
        finally:
            self._stop_watching()

    def _finish(self) -> None:
        """
        Do what was put off, and record it, before the transaction ends.

        Django records after the commit what had anything put off: killed between the two, it
        would try to do again what is done.
        """
        put_off = bool(self.deferred_sql)
        for statement in self.deferred_sql:
            self.execute(statement, None)
        self.deferred_sql.clear()
        recorder = MigrationRecorder(self.connection)
        for name in self._under_way.names:
            if not self._under_way.is_forwards:
                recorder.record_unapplied(*name)
            elif put_off:
                recorder.record_applied(*name)
                self._under_way.is_recorded = True

    def _end_atomic(self) -> None:
        self._stop_watching()
        self.atomic.__exit__(*sys.exc_info())

    def _stop_watching(self) -> None:
        if self._over is not None:
            over, self._over = self._over, None
            over.__exit__(None, None, None)

    # --- A migration without one ----------------------------------------------------------------

    def execute(self, sql: Any, params: Any = ()) -> None:
        """Every statement of a migration without a transaction is a short one of its own."""
        if self.connection.in_atomic_block or self.collect_sql:
            super().execute(sql, params)
        elif CONCURRENTLY in str(sql):
            with self._under_way.watch.over(None, self._on_wait):
                super().execute(sql, params)
        else:
            with self._short():
                super().execute(sql, params)

    @contextmanager
    def _short(self) -> Iterator[None]:
        with transaction.atomic(using=self.connection.alias):
            with self.connection.cursor() as cursor:
                guard.little_patience(cursor, self._under_way.patience.lock_s)
                cursor.execute("SELECT pg_backend_pid()")
                (session,) = cursor.fetchone()
            with self._under_way.watch.over(session):
                yield

    def _on_wait(self, wait: Wait, waited_s: float) -> None:
        """Called by the thread that looks. What waits too long ends as cancelled."""
        self._under_way.say(wait)
        driver = self.connection.connection
        if driver is not None and waited_s > self._under_way.patience.one_build_s:
            driver.cancel_safe()

    def add_index(self, model: type[Model], index: Index, concurrently: bool = False) -> None:
        """Where it is built concurrently: without what an earlier try left, and all or nothing."""
        if not concurrently:
            super().add_index(model, index)
            return
        self._drop_left_behind(model, index)
        try:
            super().add_index(model, index, concurrently=True)
        except Error:
            if not self.connection.is_usable():
                raise
            with suppress(Error, LeftBehindError):  # Otherwise the next try drops it.
                self._drop_left_behind(model, index)
            raise

    def _drop_left_behind(self, model: type[Model], index: Index) -> None:
        """
        Drop the index of a build that was cut, valid or not: the migration is not on record.

        Raises DoneMeanwhile if it is by now, and LeftBehindError while a session whose client is
        gone still builds it.
        """
        with self._short(), self.connection.cursor() as cursor:
            guard.the_next(cursor)
            self._look_again(cursor)
            cursor.execute(
                """
                SELECT EXISTS (SELECT FROM pg_stat_progress_create_index AS build
                               WHERE build.datname = current_database()
                                 AND build.index_relid = built.oid)
                FROM pg_class AS built
                JOIN pg_index ON pg_index.indexrelid = built.oid
                WHERE built.relname = %s AND built.relkind = 'i'
                  AND pg_index.indrelid = to_regclass(%s)
                """,
                [index.name, self.quote_name(model._meta.db_table)],
            )
            found = cursor.fetchone()
            if found is None:
                return
            if found[0]:
                raise LeftBehindError(index.name)
            cursor.execute(f"DROP INDEX {self.quote_name(index.name)}")
