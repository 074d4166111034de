"""Backups of the database in one file, and restores (docs/restore.md)."""


class BackupRefusedError(Exception):
    """A backup or a restore cannot be made. The text says why, and what to do."""
