"""Invariant Guardrails, as its own pages use it without its server: `LocalPolicy`.

It keeps nothing between calls: each decision is given all that happened before. Of its ways to look at a trace,
`analyze_pending` is the one for a call that did not happen yet; it is awaited inside of a loop that is running, because
its other form starts a loop for each call.
"""

import asyncio
import re

from invariant.analyzer import LocalPolicy
from invariant.analyzer.stdlib.invariant.errors import PolicyLoadingError

from pace import Cannot, answer, earlier_calls, pace, pace_awaited, the_file, told


def policy_of(job):
    try:
        return LocalPolicy.from_file(the_file(job))
    except PolicyLoadingError as error:
        raise Cannot(f"refuses the file: {str(error).splitlines()[0]}") from error


def asked(number, call):
    """A message of the assistant that wants a tool."""
    function = {"name": call["tool"], "arguments": call["input"]}
    tool_call = {"id": f"call_{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [tool_call]}


def returned(number):
    """What the tool said."""
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": "ok"}


def judge(job):
    return asyncio.run(judge_in_loop(job))


async def judge_in_loop(job):
    policy = policy_of(job)
    past = []
    for number, call in enumerate(earlier_calls(job)):
        past += [asked(number, call), returned(number)]
    pending = [asked(len(past), job["call"])]

    async def decide():
        return await policy.a_analyze_pending(past, pending)

    times = await pace_awaited(job["budget_ms"], decide)
    return times, told(not (await decide()).errors)


def load(job):
    def read():
        # Whoever loads once meets no pattern that `re` compiled before.
        re.purge()
        return policy_of(job)

    return pace(job["budget_ms"], read), None


answer(
    "invariant-ai",
    can={"judge": judge, "recall": judge, "load": load},
    cannot={
        "commit": "keeps no session; each call brings its whole trace",
        "store": "keeps no session; each call brings its whole trace",
        "prove": "proves nothing about a policy",
    },
)
