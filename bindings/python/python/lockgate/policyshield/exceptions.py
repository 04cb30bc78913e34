"""PolicyShield's errors."""

from __future__ import annotations

from ..errors import LockgateError
from .rules import PolicyShieldParseError

__all__ = ["ApprovalRequiredError", "CallDenied", "PolicyShieldError", "PolicyShieldParseError"]

#: Whatever goes wrong while the engine runs.
PolicyShieldError = LockgateError


class CallDenied(LockgateError, PermissionError):  # noqa: N818
    """A call must not run, or its result must not be passed on."""


class ApprovalRequiredError(CallDenied):
    """A human must answer first: ``engine.answer(error.approval_id, True, "NAME")``, and call again."""

    def __init__(self, message: str, approval_id: str) -> None:
        super().__init__(message)
        self.approval_id = approval_id
