"""Backups of the database in one file, and restores (docs/restore.md)."""


class BackupRefusedError(Exception):
    """A backup or restore is impossible; the error's text says why and what to do."""
