"""The permission to do anything about readers, by name; who has it says the administration."""

MANAGE = "subscribers.manage_readers"
