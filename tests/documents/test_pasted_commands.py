"""Commands that people paste from the documents parse and exist."""

import re
import subprocess
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command

from newsletter_site.models import ApiToken
from subscribers.models import SubscriberImport
from tests.documents.shell_blocks import (
    PAGES,
    SHELL,
    Block,
    blocks,
    inline_commands,
    shell_blocks,
    simple_commands,
)
from tests.documents.unknown_commands import command, problems_of_script
from tests.postgres_cluster import ROOT

pytestmark = pytest.mark.process
A_COMMAND = re.compile(
    r"^(?:\w+=\S+ )*(?:\./homing|curl|journalctl|docker|git|make) ", re.MULTILINE
)
# These commands ask a question, read the terminal, or do not end. If more lines are pasted with
# such a command, these lines are lost.
KEEPS_THE_TERMINAL = re.compile(
    r"\./homing (sandbox|runserver|deliver$)|--follow|--pwprompt|createsuperuser|changepassword"
    r"|certbot certonly|apt-get install"
    r"|docker compose (exec|run)(?!.* < )| -- bash$|psql(?!.* (-c|-f|--command|--file)\b)",
    re.MULTILINE,
)


def where(block: Block) -> str:
    return f"{block.page}:{block.line}"


@pytest.mark.parametrize("block", shell_blocks(), ids=where)
def test_every_pasted_block_parses_and_names_what_exists(block: Block) -> None:
    assert problems_of_script(block.text) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_fence_is_one_for_each_renderer(page: str) -> None:
    """Some renderers read a fence as text if the line above it has text."""
    lines = (ROOT / page).read_text().splitlines()
    found = blocks(page)
    fences = [n for n, line in enumerate(lines, 1) if line.lstrip().startswith("```")]
    assert len(fences) == 2 * len(found)
    for block in found:
        before = lines[block.line - 2].strip() if block.line > 1 else ""
        assert not before or before.startswith("<!--"), where(block)
        if block.language not in SHELL:
            assert not A_COMMAND.search(block.text), f"{where(block)} needs the language sh"


@pytest.mark.parametrize("block", shell_blocks(), ids=where)
def test_only_the_last_line_may_keep_the_terminal(block: Block) -> None:
    commands = re.sub(r"\\\n\s*", "", block.text).strip().splitlines()
    assert [line for line in commands[:-1] if KEEPS_THE_TERMINAL.search(line)] == []


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_containers_read_no_pasted_line(page: str) -> None:
    """A command in a container reads its input, also lines that are pasted after it."""
    for line in (ROOT / page).read_text().splitlines():
        assert "exec -T" not in line or " < " in line, line


@pytest.mark.parametrize("page", PAGES)
def test_every_command_in_a_sentence_exists(page: str) -> None:
    for typed in inline_commands(page):
        # If the text has one of these marks or no arguments, check only the command's name.
        if typed.split()[2:] and not re.search(r"[…|\[]", typed):
            found = problems_of_script(typed)
            assert [one for one in found if "arguments are required" not in one] == [], typed
        else:
            assert command(typed.split()[1]) or typed.split()[1] in ("COMMAND", "test"), typed


def test_no_command_needs_an_address_that_does_not_exist() -> None:
    for block in shell_blocks():
        for words in simple_commands(block.text):
            assert words[:2] != ["git", "clone"] or words[2] == "$REPOSITORY", where(block)


@pytest.mark.django_db(transaction=True)
def test_blocks_about_imports_tokens_and_accounts_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("readers.csv").write_text("email,Town,Notes\nada@weir.example.org,Faro,tall\n")
    get_user_model().objects.create_superuser("edith", "edith@example.org", None)
    call_command("fields", "--add", "City")
    newest = {"3": SubscriberImport, "1": ApiToken}
    for page in ("docs/importing.md", "docs/api.md", "docs/permissions.md"):
        for _, name, *words in simple_commands(blocks(page)[0].text):
            number = words[-1] if words else ""
            if number in newest:
                words[-1] = str(newest[number].objects.latest("pk").pk)
            if name != "changepassword":  # `changepassword` asks for the password at a terminal.
                call_command(name, *words)


def test_lines_that_get_the_code_run(tmp_path: Path) -> None:
    """Install and then upgrade, in another folder than /opt."""
    install, upgrade = (
        next(each.text for each in blocks(page) if "git clone" in each.text and "/opt" in each.text)
        for page in ("docs/deploy.md", "docs/upgrade.md")
    )
    address = next(one.text for one in blocks("docs/upgrade.md") if "REPOSITORY=" in one.text)
    lines = [
        f"REPOSITORY={ROOT} RELEASE=1 COMMIT=HEAD",
        *(line for line in install.splitlines() if re.match(r"git|ln", line)),
        address,
        "RELEASE=2 COMMIT=HEAD",
        *(line for line in upgrade.splitlines() if re.match(r"git|ln|cd", line)),
    ]
    script = "\n".join(lines).replace("/opt", str(tmp_path))
    subprocess.run(["bash", "-euc", script], check=True)
    assert (tmp_path / "homing").resolve() == tmp_path / "homing-2"
    assert (tmp_path / "homing" / "manage.py").exists()
