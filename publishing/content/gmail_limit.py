"""The size at which Gmail cuts a letter off, and when to warn before it."""

GMAIL_CLIPS_AT = 102 * 1024  # bytes of the HTML part that Gmail shows
NEAR_LIMIT = GMAIL_CLIPS_AT * 8 // 10
