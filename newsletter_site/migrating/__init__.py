"""
What `manage.py migrate` adds to Django's command, so that workers and pages go on beside it.

docs/decisions/0027-change-without-stopping.md has the reasons.
"""
