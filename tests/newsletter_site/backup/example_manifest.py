"""A complete manifest of a backup, from which tests take or change parts."""

from newsletter_site.backup.manifest import Manifest, fingerprint

KEY = "the key of the backup, as long as a key has to be: 0123456789"
BACKUP = Manifest(
    made_at="2026-11-22 03:00:00 UTC",
    release="1.0",
    migrations=("delivery.0001", "delivery.0002"),
    server="15.8",
    least_server=15,
    encoding="UTF8",
    database="homing",
    system_identifier="7",
    keys=(fingerprint(KEY), fingerprint("an older key")),
)
