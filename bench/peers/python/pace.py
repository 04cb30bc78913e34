"""What every runner in Python shares: reading the job, keeping time, telling the answer.

A job is one line of JSON on standard input and an answer one line on standard output. Time is kept in the three steps
that every runner of every language follows:

1. Warm up for a quarter of the budget, at least once.
2. Find how many times in a row take 50 µs or more; a power of two.
3. Take samples of that many in a row until the budget is used up and there are at least five of them, at most 100,000.
   A sample is divided by how many it did.

The garbage collector stays on: users have it on.
"""

import asyncio
import importlib.metadata
import json
import platform
import sys
from time import perf_counter_ns

SAMPLE_MIN_NS = 50_000
SAMPLES_MIN = 5
SAMPLES_MAX = 100_000


class Cannot(Exception):
    """The system has no way to do this; the message says why, in a few words."""


def pace(budget_ms, act):
    """How long `act()` takes."""

    async def sample(times):
        started = perf_counter_ns()
        for _ in range(times):
            act()
        return perf_counter_ns() - started

    return asyncio.run(_pace(budget_ms, sample))


async def pace_awaited(budget_ms, act, before_sample=lambda: None):
    """How long `await act()` takes inside of a loop that is running, as agents have one."""

    async def sample(times):
        before_sample()
        started = perf_counter_ns()
        for _ in range(times):
            await act()
        return perf_counter_ns() - started

    return await _pace(budget_ms, sample)


async def _pace(budget_ms, sample):
    budget_ns = budget_ms * 1_000_000
    started = perf_counter_ns()
    while True:
        await sample(1)
        if perf_counter_ns() - started >= budget_ns / 4:
            break
    times = 1
    while await sample(times) < SAMPLE_MIN_NS:
        times *= 2
    samples = []
    started = perf_counter_ns()
    while len(samples) < SAMPLES_MIN or (
        perf_counter_ns() - started < budget_ns and len(samples) < SAMPLES_MAX
    ):
        samples.append(await sample(times) / times)
    samples.sort()

    def at(share):
        return samples[int((len(samples) - 1) * share + 0.5)]

    return {"min": at(0.0), "median": at(0.5), "p99": at(0.99), "samples": len(samples)}


def told(is_allowed):
    """A verdict in the words of an answer."""
    return "allow" if is_allowed else "block"


def the_file(job):
    """The policy's only file."""
    [file] = job["files"]
    return file


def earlier_calls(job):
    """What the session did before, one call after the other."""
    for earlier in job.get("earlier", []):
        for _ in range(earlier["times"]):
            yield earlier["call"]


def answer(package, can, cannot, version=None):
    """Does the job that is asked for.

    `can` has a function for each task, from the job to its pace and its verdict (or none); `cannot` has a reason for
    each task that the system has no way to do. `version` is told where the package is not installed.
    """
    job = json.loads(sys.stdin.readline())
    task = job["task"]
    try:
        if task not in can:
            raise Cannot(cannot.get(task, "not measured"))
        times, verdict = can[task](job)
    except Cannot as reason:
        print(json.dumps({"cannot": str(reason)}))
        return
    version = f"{version or importlib.metadata.version(package)}, Python {platform.python_version()}"
    done = {"version": version, **times}
    if verdict is not None:
        done["verdict"] = verdict
    print(json.dumps(done))
