"""
The code that each step of the model stands for. A test looks every name up, so that the model and
the code cannot part company unseen.
"""

from __future__ import annotations

# What happens in the model, and the function whose statement or decision it stands for.
STANDS_FOR: dict[str, tuple[str, ...]] = {
    "claims the batch": ("delivery.queue.claim:claim",),
    "claims the look-up": ("delivery.queue.claim:claim_look_up",),
    "gives the batch back": ("delivery.queue.claim:release",),
    "starts the call": ("delivery.queue.start:start",),
    "may not start: its claim is lost": ("delivery.queue.start:ClaimLost",),
    "sets the marked copy aside": ("delivery.queue.start:start",),
    "writes the call": ("delivery.postmark:Postmark.send", "delivery.postmark:_Call.take"),
    "finds no time left to write": (
        "delivery.postmark:TooLateToStartError",
        "delivery.outcomes:NotSent",
    ),
    "reads the reply": ("delivery.classification:classify_call", "delivery.outcomes:Answered"),
    "gets no answer": ("delivery.postmark:_Call.end", "delivery.outcomes:CallUnanswered"),
    "settles the call": ("delivery.retries:after_call", "delivery.queue.settle:settle_call"),
    "asks for later mail": ("delivery.look_up:look_up", "delivery.queue.doubt:doubt_of"),
    "asks for the attempt": ("delivery.look_up:look_up", "delivery.postmark:Postmark.search"),
    "gets no answer from the search": ("delivery.outcomes:NoInformation",),
    "settles the look-up": (
        "delivery.retries:after_look_up",
        "delivery.queue.settle:settle_look_up",
    ),
    "sees a lost worker": ("delivery.queue.sweep:sweep",),
    "brings the batch back": ("delivery.queue.sweep:sweep", "delivery.retries:after_crash"),
    "finds that it came too late": ("delivery.queue.sweep:sweep",),
    "pauses": ("delivery.queue.control:pause",),
    "resumes": ("delivery.queue.control:resume",),
    "cancels": ("delivery.queue.control:cancel",),
}

# What nobody wrote: faults, the provider and the clock.
OF_THE_WORLD = frozenset(
    {
        "crashes",
        "accepts the copy",
        "puts the call off",
        "shows the copy in its search",
        "shows later mail in its search",
        "passes",
    }
)


def bare(what: str) -> str:
    """The name of a step without the details in brackets."""
    return what.partition(" (")[0]
