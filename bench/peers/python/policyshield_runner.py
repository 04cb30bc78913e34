"""PolicyShield, as its own pages use it: the synchronous engine inside of the agent's process.

The engine is made of its rules alone, as the quick start does: PII is looked for where a rule blocks or redacts, there
is no sanitizer, no trace and no approval backend.
"""

import re

from policyshield.core.exceptions import PolicyShieldParseError
from policyshield.core.models import Verdict
from policyshield.shield.engine import ShieldEngine

from pace import Cannot, answer, earlier_calls, pace, the_file, told


def engine_of(job):
    try:
        return ShieldEngine(rules=the_file(job))
    except PolicyShieldParseError as error:
        raise Cannot(f"refuses the file: {str(error).splitlines()[0]}") from error


def commit(job):
    """`check`: the decision, the session's counters and its last events, all in memory."""
    engine, call = engine_of(job), job["call"]
    for past in earlier_calls(job):
        engine.check(past["tool"], past["input"])

    def decide():
        return engine.check(call["tool"], call["input"])

    return pace(job["budget_ms"], decide), told(decide().verdict == Verdict.ALLOW)


def load(job):
    def read():
        # Whoever loads once meets no pattern that `re` compiled before.
        re.purge()
        return engine_of(job)

    return pace(job["budget_ms"], read), None


answer(
    "policyshield",
    can={"commit": commit, "recall": commit, "load": load},
    cannot={
        "judge": "remembers every call that it decides",
        "store": "keeps sessions in memory; nothing is on disk before the answer",
        "prove": "has a linter, which proves nothing",
    },
)
