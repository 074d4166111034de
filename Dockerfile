# One image for the site, the workers and every command. It has only the packages of the production
# lock: no compiler, no test tools, no embedded PostgreSQL. It runs as an unprivileged user, and its
# root file system may be read-only. `make images` renews the digest (docs/dependencies.md).
FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /homing

COPY requirements/production.txt requirements/
RUN pip install --no-cache-dir --no-deps --only-binary :all: --require-hashes \
        --requirement requirements/production.txt \
    && useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin homing

COPY . .
# Collect style sheets and scripts, compressed and under names that browsers may cache. The settings
# of this step are removed afterwards. Commands of ./homing-compose have other users and enter
# /var/lib/homing for templates, but cannot list it. A checkout under another umask may have files
# that only their owner can read.
RUN chmod --recursive a+rX . \
    && DEBUG=on HOMING_DATA_DIR=/tmp/homing python manage.py collectstatic --noinput --verbosity 0 \
    && rm -rf /tmp/homing \
    && python -m compileall -q . \
    && install -d -o 10001 -g 10001 -m 0711 /var/lib/homing
# Which code this is (docs/deploy.md). The image has no git, so a file has the commit.
ARG HOMING_VERSION=
ARG HOMING_COMMIT=
LABEL org.opencontainers.image.title=Homing \
      org.opencontainers.image.version=$HOMING_VERSION \
      org.opencontainers.image.revision=$HOMING_COMMIT
RUN printf '%s\n' "$HOMING_COMMIT" > COMMIT
# Workers keep their lists of unsent calls in this folder; on a volume they outlive a killed container.
# A worker touches the file with each heartbeat, for health checks that start no Django. A container
# without settings stops and names them, instead of starting in debug.
ENV HOMING_DATA_DIR=/var/lib/homing \
    HOMING_HEARTBEAT_FILE=/tmp/heartbeat \
    DEBUG=off

# By number, so a platform that forbids root can verify that this user is not root.
USER 10001:10001
# The site listens on this port, on every IPv4 and IPv6 address. A platform may set another port.
ENV PORT=8000
EXPOSE 8000
CMD ["python", "manage.py", "serve"]
