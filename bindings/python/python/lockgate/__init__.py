"""Lockgate: a gate between AI agents and their tools.

>>> import lockgate
>>> gate = lockgate.Gate(lockgate.Policy.rules("require backup before delete"))
>>> @gate.tool
... def delete(path: str) -> str:
...     return f"deleted {path}"
>>> with gate.session("s1"):
...     delete(path="data")
Traceback (most recent call last):
lockgate.errors.Blocked: delete requires a successful call to backup first. …

If this package cannot load its extension module, importing it fails: there is no gate that lets everything pass.
"""

from ._lockgate import ManualClock, Output, Permit, Question, Refusal
from .errors import AnswerError, Blocked, InputError, LockgateError, PolicyError, StoreError
from .gate import Gate, Policy, Session

__all__ = [
    "AnswerError",
    "Blocked",
    "Gate",
    "InputError",
    "LockgateError",
    "ManualClock",
    "Output",
    "Permit",
    "Policy",
    "PolicyError",
    "Question",
    "Refusal",
    "Session",
    "StoreError",
]
