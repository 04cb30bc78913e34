"""Lockgate from Python: a guarded function. The folder of the package is the first argument."""

import sys

sys.path.insert(0, sys.argv[1])

import lockgate  # noqa: E402

from pace import answer, earlier_calls, pace, told  # noqa: E402


def commit(job):
    """`@gate.tool`: the decision, a tool that returns at once, and its result, with the session in memory."""
    gate, call = lockgate.Gate(lockgate.Policy(*job["files"])), job["call"]
    session = gate.session("s1")
    for past in earlier_calls(job):
        session.run(past["tool"], past["input"], lambda **_: "ok")

    @gate.tool(name=call["tool"])
    def tool(**_):
        return "ok"

    def decide():
        try:
            tool(**call["input"])
            return True
        except lockgate.Blocked:
            return False

    with session:
        return pace(job["budget_ms"], decide), told(decide())


answer("lockgate", can={"commit": commit}, cannot={}, version="this one")
