"""When a service that has ended is started again, and when it is not. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from shared.errors import StoreDamaged, StoreInUse

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0
DOUBLINGS = 7  # from the first wait to beyond the longest
LONG_RUN_S = 60.0  # a run of so long was a good one: what failed before it is forgotten
SETTINGS_WITHIN_S = 30.0  # of the first start: who ends so soon, with a code of wrong usage, will do so again
WRONG_USAGE = frozenset({1, 2})
HOPELESS = {
    StoreDamaged.exit_status: "its data is damaged",
    StoreInUse.exit_status: "another process uses its data",
}


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a service: when it began, in monotonic seconds, and how many in a row before it were short."""

    began: float
    short_before: int = 0


@dataclass(frozen=True, slots=True)
class Wait:
    """Until when to wait before the next run; ``short_before`` is that run's."""

    until: float
    short_before: int


def next_start(run: Run, *, now: float, exit_code: int) -> Wait | None:
    """When to start again after a run that ended ``now``; None where another start would not help (``hopeless`` says why).

    Half a second, doubled with each short run, a minute at most.

    >>> next_start(Run(0.0, short_before=3), now=2.0, exit_code=-9)
    Wait(until=6.0, short_before=4)
    """
    if hopeless(run, now=now, exit_code=exit_code):
        return None
    short = 0 if now - run.began >= LONG_RUN_S else run.short_before
    return Wait(now + min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(short, DOUBLINGS)), short + 1)


def hopeless(run: Run, *, now: float, exit_code: int) -> str:
    """Why another start would end alike; empty where it may help.

    >>> hopeless(Run(0.0), now=1.0, exit_code=6)
    'another process uses its data'
    """
    if exit_code in HOPELESS:
        return HOPELESS[exit_code]
    if exit_code in WRONG_USAGE and run.short_before == 0 and now - run.began < SETTINGS_WITHIN_S:
        return "its settings cannot be used"
    return ""
