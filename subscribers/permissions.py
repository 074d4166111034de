"""The name of the permission to manage readers. The admin grants it."""

MANAGE = "subscribers.manage_readers"
