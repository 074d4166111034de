"""A task in a separate process ends at its limits."""

import signal
import subprocess
import sys

import pytest
from django.conf import settings

pytestmark = pytest.mark.process

# The worker's end of standard input stays open while the process runs.
RUN_TASK = """
import sys, uuid
from delivery.tasks import separate_process as process
def endless(owner, is_stopping):
    while not is_stopping():
        pass
process.STEP_CPU_S = 1
work = {
    "takes little memory": lambda owner, is_stopping: len(bytearray(process.MEMORY // 2)) < 0,
    "takes much memory": lambda owner, is_stopping: len(bytearray(2 * process.MEMORY)) > 0,
    "never looks": lambda owner, is_stopping: endless(owner, lambda: False),
    "looks after each step": lambda owner, is_stopping: sum(
        sum(range(1_000_000)) + is_stopping() for _ in range(100)) < 0,
}[sys.argv[1]]
task = process.SeparateTask("a task", work, lambda: True, print)
process.register_separate_task(task)
process.run_here(task.name, uuid.uuid4())
"""


@pytest.mark.parametrize(
    ("work", "ends_by"),
    [
        ("takes little memory", {0}),
        ("takes much memory", {-signal.SIGKILL}),
        ("never looks", {-signal.SIGXCPU}),
        ("looks after each step", {0}),
    ],
)
def test_a_process_ends_at_its_limits(work: str, ends_by: set[int]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", RUN_TASK, work], cwd=settings.BASE_DIR, stdin=subprocess.PIPE
    )
    with process:
        assert process.wait(100) in ends_by


def test_a_process_stops_when_its_worker_is_gone() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", RUN_TASK.replace("lambda: False)", "is_stopping)"), "never looks"],
        cwd=settings.BASE_DIR,
        stdin=subprocess.PIPE,
    )
    # This closes the pipe, as the kernel does if the worker is killed.
    process.communicate(timeout=100)
    assert process.returncode == 0
