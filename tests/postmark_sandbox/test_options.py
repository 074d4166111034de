"""Wrong options of the sandbox, and faults given as options."""

import socket
from argparse import ArgumentParser

import pytest

from postmark_sandbox.__main__ import add_options, read_fault, run


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--stream", "letters"], "--stream is 'letters'; expected ID=TYPE"),
        (["--stream", "letters=Big"], "--stream is 'letters=Big'; expected ID=TYPE"),
        (["--webhook-url", "nowhere"], "The webhook URL must look like"),
        (["--port", "99999"], "99999"),
        (["--desk-url", "javascript:alert(1)"], "The desk URL is 'javascript:alert(1)'"),
        (["--port", "TAKEN"], "choose another port with --port."),
    ],
)
def test_wrong_option_is_reported_in_one_sentence(
    capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
) -> None:
    parser = ArgumentParser()
    add_options(parser)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        given = [option.replace("TAKEN", str(taken.getsockname()[1])) for option in options]
        code = run(vars(parser.parse_args(["--port", "0", *given])))
    errors = capsys.readouterr().err
    assert code == 1
    assert sentence in errors
    assert errors.count("\n") == 1


def test_command_line_fault_fires_on_every_call_by_default() -> None:
    assert read_fault("refuse_429") == {"kind": "refuse_429", "calls": None}
    expected = {"kind": "slow", "seconds": "2", "calls": "3"}
    assert read_fault("slow:seconds=2,calls=3") == expected
    with pytest.raises(ValueError, match=r"--fault has '2'; expected NAME=VALUE."):
        read_fault("slow:2")
