"""Django's PostgreSQL backend, telling the watch of every statement and every commit."""
