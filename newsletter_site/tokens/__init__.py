"""API tokens. Each gives a program some of the permissions of one user."""
