"""What `manage.py migrate` adds to Django's: docs/decisions/0027-change-without-stopping.md."""
