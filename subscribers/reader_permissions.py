"""Names of the permissions for readers and settings. Grant them in the admin."""

MANAGE = "subscribers.manage_readers"
CHANGE_NEWSLETTER = "delivery.change_newsletter"
