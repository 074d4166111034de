"""The names of the permissions of readers and settings. The admin grants them."""

MANAGE = "subscribers.manage_readers"
CHANGE_NEWSLETTER = "delivery.change_newsletter"
