"""
How long does an import take, and how much memory?

A list as people write it: doubles, bad rows, names in quotation marks. It is imported by the
command, with its full report and the rejects file; then uploaded through the site's own WSGI
application and checked and imported by a worker's step. Each is a process of its own, whose peak of
resident memory is what the system counted. PostgreSQL is the embedded one, with full durability, on
the same machine.

    .venv/bin/python benchmarks/import_readers.py [--rows 100000 1000000]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

UPLOAD = """
import os, sys
from django.core.wsgi import get_wsgi_application
site = get_wsgi_application()
from django.contrib.auth import get_user_model
from django.test import Client
body, boundary = sys.argv[1:]
user, _ = get_user_model().objects.get_or_create(username="e", is_superuser=True, is_staff=True)
client = Client()
client.force_login(user)
token = "a" * 32
said = []
with open(body, "rb") as file:
    answer = site({
        "REQUEST_METHOD": "POST", "PATH_INFO": "/admin/newsletters/imports/", "SCRIPT_NAME": "",
        "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "8000", "HTTP_HOST": "127.0.0.1:8000",
        "wsgi.input": file, "wsgi.errors": sys.stderr, "wsgi.url_scheme": "http",
        "CONTENT_LENGTH": str(os.path.getsize(body)),
        "CONTENT_TYPE": f"multipart/form-data; boundary={boundary}",
        "HTTP_COOKIE": f"sessionid={client.cookies['sessionid'].value}; csrftoken={token}",
    }, lambda status, headers: said.append(status))
assert said[0].startswith("303"), said
"""
WORK = """
import django
django.setup()
from subscribers.importing import background
while background.work(lambda: False):
    pass
"""
DECIDE = """
import django
django.setup()
from subscribers.importing.receiving import Statement, decide
from subscribers.models import SubscriberImport
record = SubscriberImport.objects.get(state="checked")
assert decide(record.pk, Statement())
"""


def write_list(path: Path, rows: int) -> None:
    """A list of so many rows; one in fifty is a double, one in a hundred cannot be read."""
    with path.open("w", encoding="utf-8") as file:
        file.write("email,name,joined\n")
        for number in range(rows):
            if number % 100 == 99:
                file.write(f"reader{number}@@example.net,Nobody,2024-05-01\n")
            elif number % 50 == 48:
                file.write(f"READER{number // 2}@example.net,Again,2024-05-01\n")
            else:
                file.write(f'reader{number}@example.net,"Whitlock, Ada {number}",2024-05-01\n')


def write_body(path: Path, content: Path, boundary: str) -> None:
    """The file as a browser posts it."""
    with path.open("wb") as body, content.open("rb") as file:
        body.write(
            f'--{boundary}\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n'
            f'{"a" * 32}\r\n--{boundary}\r\nContent-Disposition: form-data; name="file"; '
            f'filename="{content.name}"\r\nContent-Type: text/csv\r\n\r\n'.encode()
        )
        while piece := file.read(1 << 20):
            body.write(piece)
        body.write(f"\r\n--{boundary}--\r\n".encode())


def measured(what: str, *command: str) -> None:
    """Run a process to its end; print how long it took and how large it was."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    output = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, output
    took = time.monotonic() - began
    print(f"{what:<52} {took:7.1f} s {usage.ru_maxrss / 1024:7.0f} MB", flush=True)
    if "import_subscribers" in command:
        print(f"    {output.splitlines()[-1]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    sizes = parser.parse_args().rows
    os.environ["DJANGO_SETTINGS_MODULE"] = "newsletter_site.settings"
    for rows in sizes:
        for options in ([], ["--confirmed"]):
            _one_list(rows, options)


def _one_list(rows: int, options: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="homing-benchmark-") as folder:
        os.environ |= {"HOMING_DATA_DIR": f"{folder}/data", "DEBUG": "on"}
        content, body = Path(folder, "list.csv"), Path(folder, "body")
        write_list(content, rows)
        manage = ("manage.py", "import_subscribers", str(content), *options)
        named = f"{rows:,} rows, {'confirmed' if options else 'each asked by mail'}"
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--verbosity", "0"], cwd=ROOT, check=True
        )
        measured(f"{named}: dry run", *manage, "--dry-run")
        if options:
            measured(f"{named}: the command", *manage, "--rejects", f"{folder}/rejects.csv")
            return
        boundary = "a-line-that-stands-nowhere-in-the-file"
        write_body(body, content, boundary)
        measured(f"{named}: the web process, upload", "-c", UPLOAD, str(body), boundary)
        measured(f"{named}: the worker, check", "-c", WORK)
        subprocess.run([sys.executable, "-c", DECIDE], cwd=ROOT, check=True)
        measured(f"{named}: the worker, import", "-c", WORK)
        measured(f"{named}: the command, the same again", *manage)


if __name__ == "__main__":
    main()
