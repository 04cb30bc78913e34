"""What can go wrong. Each error says what to do next; none of them lets a tool run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._lockgate import Refusal

__all__ = ["AnswerError", "Blocked", "InputError", "LockgateError", "PolicyError", "StoreError"]


class LockgateError(Exception):
    """The base of all errors of Lockgate, and of a use that it does not allow."""


class PolicyError(LockgateError):
    """A policy is not in force: it cannot be read, or it has mistakes.

    The message shows every mistake with its place and a remedy; ``diagnostics`` has the same as data.
    """

    def __init__(self, message: str, diagnostics: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.diagnostics: list[dict[str, Any]] = diagnostics or []


class StoreError(LockgateError):
    """Sessions cannot be read or stored. The call must not run."""


class AnswerError(LockgateError):
    """A question cannot be answered: it is not open, was answered before, or the store failed."""


class InputError(LockgateError, ValueError):
    """A value is not plain JSON, so the gate cannot judge what the tool would get."""


class Blocked(LockgateError):
    """A call must not run. The message is the sentence for the agent."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.sentence)
        self.refusal = refusal
