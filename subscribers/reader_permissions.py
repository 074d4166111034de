"""The names of the permissions for readers and settings; the admin grants them."""

MANAGE = "subscribers.manage_readers"
CHANGE_NEWSLETTER = "delivery.change_newsletter"
