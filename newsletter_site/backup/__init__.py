"""Backups of the database in one file, and restores (docs/restore.md)."""


class BackupRefusedError(Exception):
    """The error if a backup or a restore is impossible; its text says why and what to do."""
