# One image for the site, the workers and every command. It holds the production lock alone: no
# compiler, no test tools, no embedded PostgreSQL. It runs as a user without rights.
FROM python:3.13-slim

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /homing

COPY requirements/production.txt requirements/
RUN pip install --no-cache-dir --no-deps --only-binary :all: --require-hashes \
        --requirement requirements/production.txt \
    && useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin homing

COPY . .

USER homing
EXPOSE 8000
# No access log here: addresses of unsubscribe pages hold tokens. The proxy in front has its own.
CMD ["gunicorn", "newsletter_site.wsgi", "--bind", "0.0.0.0:8000", \
     "--worker-class", "gthread", "--workers", "2", "--threads", "8", "--timeout", "60", \
     "--worker-tmp-dir", "/dev/shm", "--no-control-socket"]
