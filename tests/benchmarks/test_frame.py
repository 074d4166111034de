"""What a figure is, when a target is met, and how a table shows both."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks import frame
from benchmarks.frame import (
    NO_PROOF,
    Measured,
    Options,
    RowResult,
    Target,
    as_json,
    in_turns,
    markdown,
    percent,
    ratio,
    shown,
    table,
    with_spread,
)
from benchmarks.surroundings import Surroundings

AROUND = Surroundings(
    cpu="A processor",
    cores=2,
    memory_gb=24.1,
    kernel="Linux 6",
    python="3.11.2",
    postgresql="15.18",
    settings={"fsync": "on", "shared_buffers": "128MB"},
    commit="0123456789",
    began_at=datetime(2026, 5, 4, 14, 15, tzinfo=UTC),
    load=0.31,
)
PUBLISH = Measured("publish", "s", (8.0, 6.0, 7.0))
BARE = Measured("bare INSERT … SELECT", "s", (4.0, 4.0, 3.5))
ROW = RowResult(
    "publish to 1,000,000 readers",
    (
        Target("at most 2 × the bare INSERT … SELECT", ratio("a", PUBLISH, BARE), 2.0, True),
        Target("answered in at most 5 s", PUBLISH, 5.0, True),
    ),
    beside=(BARE,),
    notes=("Both commit.",),
)


# --- Figures -----------------------------------------------------------------------------------


def test_a_figure_is_the_median_of_its_runs_with_the_least_and_the_most() -> None:
    assert (PUBLISH.median, PUBLISH.low, PUBLISH.high) == (7.0, 6.0, 8.0)
    assert Measured("two runs", "s", (1.0, 2.0)).median == 1.5


def test_what_was_never_measured_is_no_figure() -> None:
    with pytest.raises(ValueError, match="'publish' was not measured once"):
        Measured("publish", "s", ())


def test_a_ratio_is_taken_within_each_round() -> None:
    found = ratio("publish : bare", PUBLISH, BARE)
    assert (found.unit, found.runs) == ("×", (2.0, 1.5, 2.0))
    # Not the ratio of the medians, which may come from two different rounds.
    assert found.median == 2.0 != PUBLISH.median / BARE.median


def test_a_ratio_needs_both_sides_of_each_round() -> None:
    with pytest.raises(ValueError, match=r"as many runs of 'publish' \(3\) as of 'bare' \(1\)"):
        ratio("publish : bare", PUBLISH, Measured("bare", "s", (1.0,)))


def test_a_percentage_is_a_ratio_too() -> None:
    found = percent("of the ceiling", PUBLISH, Measured("ceiling", "s", (10.0, 10.0, 10.0)))
    assert (found.unit, found.median) == ("%", 70.0)


# --- Targets -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bound", "at_most", "is_met"),
    [(7.0, True, True), (6.9, True, False), (7.0, False, True), (7.1, False, False)],
)
def test_a_target_is_met_by_the_median(bound: float, at_most: bool, is_met: bool) -> None:
    assert Target("", PUBLISH, bound, at_most).is_met is is_met


def test_a_row_is_met_when_all_of_its_targets_are() -> None:
    good, bad = Target("", PUBLISH, 9.0, True), Target("", PUBLISH, 1.0, True)
    assert RowResult("", (good, good)).is_met
    assert not RowResult("", (good, bad)).is_met


def test_a_row_that_measured_nothing_has_met_nothing() -> None:
    assert not RowResult("publish", ()).is_met


# --- Rounds ------------------------------------------------------------------------------------


def sides_of(asked: list[str]) -> dict[str, Callable[[], float]]:
    def side(name: str) -> Callable[[], float]:
        def measured() -> float:
            asked.append(name)
            return float(len(asked))

        return measured

    return {"a": side("a"), "b": side("b")}


def test_the_sides_take_turns_at_being_first_after_a_warm_up_that_does_not_count() -> None:
    asked: list[str] = []
    a, b = in_turns(Options(rounds=2), sides_of(asked), "s")
    assert "".join(asked) == "ba" + "ab" + "ba"
    assert (a.runs, b.runs) == ((3.0, 6.0), (4.0, 5.0))


def test_a_quick_run_is_one_round_without_a_warm_up() -> None:
    asked: list[str] = []
    in_turns(Options(rounds=1, quick=True), sides_of(asked), "s")
    assert "".join(asked) == "ab"


def test_a_quick_run_is_small() -> None:
    assert Options().size(1_000_000, 100) == 1_000_000
    assert Options(quick=True).size(1_000_000, 100) == 100


# --- The table ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 s"),
        (0.01234, "0.0123 s"),
        (1.234, "1.23 s"),
        (12.34, "12.3 s"),
        (123.4, "123 s"),
        (1_234_567.8, "1,234,568 s"),
    ],
)
def test_a_value_is_shown_to_three_figures(value: float, text: str) -> None:
    assert shown(value, "s") == text
    assert shown(value, "") == text.removesuffix(" s")


def test_the_spread_is_shown_where_there_is_one() -> None:
    assert with_spread(PUBLISH) == "7.00 s (6.00 to 8.00)"
    assert with_spread(Measured("publish", "s", (7.0,))) == "7.00 s"


def test_a_table_says_what_is_asked_what_was_measured_and_whether_it_is_met() -> None:
    assert (
        table([ROW], AROUND)
        == """\
  asked                                 measured               met

publish to 1,000,000 readers
  at most 2 × the bare INSERT … SELECT  2.00 × (1.50 to 2.00)  yes
  answered in at most 5 s               7.00 s (6.00 to 8.00)  no
    bare INSERT … SELECT                4.00 s (3.50 to 4.00)
    Both commit.

A processor, 2 cores, 24 GB, Linux 6; everything on this one machine
Python 3.11.2, PostgreSQL 15.18: fsync on, shared_buffers 128MB
commit 0123456789, 2026-05-04 14:15 UTC, load 0.3 before
"""
    )


def test_the_docs_get_the_same_as_markdown() -> None:
    small = RowResult("publish", ROW.targets[1:], ROW.beside, ROW.notes)
    assert (
        markdown([small], AROUND)
        == """\
| Row | Asked | Measured | Met |
|---|---|---|---|
| publish | answered in at most 5 s | **7.00 s (6.00 to 8.00)** | no |
|  | bare INSERT … SELECT | 4.00 s (3.50 to 4.00) |  |

- publish: Both commit.
- A processor, 2 cores, 24 GB, Linux 6; everything on this one machine
- Python 3.11.2, PostgreSQL 15.18: fsync on, shared_buffers 128MB
- commit 0123456789, 2026-05-04 14:15 UTC, load 0.3 before
"""
    )


def test_a_quick_table_says_that_it_is_no_proof_and_judges_nothing() -> None:
    text = table([ROW], AROUND, quick=True)
    assert text.startswith(NO_PROOF)
    assert " yes" not in text
    assert " no\n" not in text


def test_programs_get_every_run_of_every_figure() -> None:
    told = as_json([ROW], AROUND, Options())
    assert json.loads(json.dumps(told)) == told
    assert told["commit"] == "0123456789"
    assert told["machine"]["settings"]["fsync"] == "on"
    target = told["rows"][0]["targets"][1]
    assert (target["is_met"], target["figure"]["runs"]) == (False, [8.0, 6.0, 7.0])
    quick = as_json([ROW], AROUND, Options(quick=True))["rows"][0]
    assert (quick["is_met"], quick["targets"][1]["is_met"]) == (None, None)


# --- From the command line ---------------------------------------------------------------------


@pytest.fixture
def known_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "surroundings", lambda: AROUND)


def chosen(*words: str) -> argparse.Namespace:
    options = argparse.ArgumentParser()
    frame.add_options(options)
    return options.parse_args(words)


@pytest.mark.usefixtures("known_surroundings")
def test_a_missed_target_is_an_exit_code_unless_the_run_is_quick() -> None:
    missed = {"publish": lambda _: ROW}
    assert frame.carried_out(missed, chosen()) == 1
    assert frame.carried_out(missed, chosen("--quick")) == 0
    assert frame.carried_out({"publish": lambda _: RowResult("", ROW.targets[:1])}, chosen()) == 0


@pytest.mark.usefixtures("known_surroundings")
def test_a_row_that_breaks_off_is_shown_as_such_and_the_others_still_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def breaks(_: Options) -> RowResult:
        raise RuntimeError("the database did not come up")

    rows = {"memory": breaks, "publish": lambda _: ROW}
    assert frame.carried_out(rows, chosen("--quick")) == frame.carried_out(rows, chosen()) == 3
    told = capsys.readouterr()
    assert "It broke off: RuntimeError: the database did not come up" in told.out
    assert "publish to 1,000,000 readers (publish)" in told.out
    # Where it did, for whoever is to mend it.
    assert "in breaks" in told.err


@pytest.mark.usefixtures("known_surroundings")
def test_whoever_interrupts_a_run_gets_what_was_measured_until_then(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def is_interrupted(_: Options) -> RowResult:
        raise KeyboardInterrupt

    rows = {"publish": lambda _: ROW, "memory": is_interrupted, "replay": lambda _: ROW}
    file = tmp_path / "a.json"
    assert frame.carried_out(rows, chosen("--json", str(file))) == 130
    told = capsys.readouterr()
    assert "Interrupted in memory." in told.err
    assert "publish to 1,000,000 readers (publish)" in told.out
    assert [row["name"] for row in json.loads(file.read_text())["rows"]] == ["publish"]


@pytest.mark.usefixtures("known_surroundings")
def test_the_table_is_written_where_it_is_wished(tmp_path: Path) -> None:
    files = ("--json", str(tmp_path / "a.json"), "--markdown", str(tmp_path / "a.md"))
    frame.carried_out({"publish": lambda _: ROW}, chosen(*files, "--rounds", "5"))
    assert json.loads((tmp_path / "a.json").read_text())["rounds"] == 5
    written = (tmp_path / "a.md").read_text()
    assert "| publish to 1,000,000 readers (publish) | at most 2 × the bare" in written
    assert "load 0.3 before and " in written


@pytest.mark.parametrize("option", ["--json", "--markdown"])
@pytest.mark.parametrize("file", ["nowhere/a.json", "."])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    option: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        chosen(option, str(tmp_path / file))
    assert ended.value.code == 2
    assert "cannot be written; expected a file in a folder that is there" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["0", "-5", "many", ""])
def test_nobody_to_measure_with_is_refused_with_a_sentence(number: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not enough; expected at least 1"):
        frame.at_least_one(number)
    assert frame.at_least_one("5") == 5


@pytest.mark.parametrize("rounds", ["0", "-1", "three"])
def test_no_rounds_are_refused_with_a_sentence(
    rounds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        chosen("--rounds", rounds)
    assert "is no number of rounds; expected at least 1" in capsys.readouterr().err
