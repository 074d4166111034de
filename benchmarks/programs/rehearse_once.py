"""Rehearse a letter to all readers of a benchmark's site, and time it.

Run `python -m benchmarks.programs.rehearse_once`, with the HTML on standard input. It prints the
seconds, the CPU seconds, the messages and the growth of the memory in MB.
"""

import resource
import sys
import time

from benchmarks.site.within_site import begin, print_result


def main() -> None:
    """Request a rehearsal and run it as a worker does."""
    begin()
    from newsletter_site.wiring import register_hooks
    from publishing.models import Draft, Rehearsal
    from publishing.rehearsal.rehearse import request_rehearsal, run_next_rehearsal

    register_hooks()
    draft = Draft.objects.create(title="Swifts", format="html", letter=sys.stdin.read())
    request_rehearsal(draft)
    before = resource.getrusage(resource.RUSAGE_SELF)
    began_s, cpu_s = time.perf_counter(), time.process_time()
    run_next_rehearsal(lambda: False)
    took_s, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
    after = resource.getrusage(resource.RUSAGE_SELF)
    rehearsal = Rehearsal.objects.get(draft=draft)
    if rehearsal.state != Rehearsal.State.FINISHED or rehearsal.refused:
        raise AssertionError(f"the rehearsal is {rehearsal.state}; refused: {rehearsal.refused}")
    print_result(
        {
            "took_s": took_s,
            "cpu_s": cpu_s,
            "messages": rehearsal.checked,
            "mb": (after.ru_maxrss - before.ru_maxrss) / 1024,
        }
    )


if __name__ == "__main__":
    main()
