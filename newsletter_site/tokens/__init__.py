"""API tokens. Each token gives a program some of the permissions of one user."""
