"""API tokens: a program may do what one user may, or less."""
