"""Edictum for Python, as its own pages use it."""

import asyncio
import re

from edictum import Edictum, EdictumConfigError, EdictumDenied, OperationLimits

from pace import Cannot, answer, earlier_calls, pace, pace_awaited, told

CALLS_MAX = 10**12


def guard_of(job):
    try:
        return Edictum.from_yaml(*job["files"])
    except EdictumConfigError as error:
        raise Cannot(f"refuses the file: {str(error).splitlines()[0]}") from error


def judge(job):
    """`evaluate`: the decision alone, without a session."""
    guard, call = guard_of(job), job["call"]

    def decide():
        return guard.evaluate(call["tool"], call["input"])

    return pace(job["budget_ms"], decide), told(decide().decision == "allow")


def commit(job):
    """`run`: the decision, the session's counters, a tool that returns at once, and two audit events.

    The guard is as `from_yaml` makes it: sessions are counted in memory, and events go to the collector in memory that
    every guard has and nobody can take out. It copies all of its events for each new one as soon as it is full, after
    25,000 calls; few agents make as many, so it is emptied between samples. A session ends after 200 calls unless its
    limits are set, so they are.
    """
    return asyncio.run(commit_in_loop(job))


async def commit_in_loop(job):
    guard, call = guard_of(job), job["call"]
    guard.limits = OperationLimits(max_attempts=CALLS_MAX, max_tool_calls=CALLS_MAX)

    def tool(**_):
        return "ok"

    for past in earlier_calls(job):
        await guard.run(past["tool"], past["input"], tool)

    async def decide():
        try:
            await guard.run(call["tool"], call["input"], tool)
            return True
        except EdictumDenied:
            return False

    times = await pace_awaited(job["budget_ms"], decide, before_sample=guard.local_sink.clear)
    return times, told(await decide())


def load(job):
    def read():
        # Whoever loads once meets no pattern that `re` compiled before.
        re.purge()
        return guard_of(job)

    return pace(job["budget_ms"], read), None


answer(
    "edictum",
    can={"judge": judge, "commit": commit, "recall": commit, "load": load},
    cannot={
        "store": "keeps sessions in memory or on a server of its maker",
        "prove": "proves nothing about a ruleset",
    },
)
