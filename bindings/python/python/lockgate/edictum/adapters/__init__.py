"""Edictum's adapters for agent frameworks: each is Lockgate's own, with the guard's principal told with every call."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from ...gate import Session
from ..guard import Edictum, known
from ..model import EdictumConfigError, Principal

__all__ = ["Adapter"]


class Adapter:
    """A guard inside a framework: one session, and who calls."""

    def __init__(
        self,
        guard: Edictum,
        session_id: str | None = None,
        principal: Principal | None = None,
        principal_resolver: Callable[[str, dict[str, Any]], Principal | None] | None = None,
        on_postcondition_warn: Any = None,
    ) -> None:
        refuse(on_postcondition_warn)
        self._guard = guard
        self.session_id = session_id or str(uuid.uuid4())
        self._principal, self._principal_resolver = principal, principal_resolver

    def set_principal(self, principal: Principal) -> None:
        """Who calls from now on."""
        self._principal = principal

    @property
    def session(self) -> Session:
        """The session of the framework's calls."""
        return self._guard.gate.session(self.session_id, about=self._about)

    def _about(self, tool: str, args: dict[str, Any]) -> dict[str, Any]:
        principal = self._principal or self._guard.principal_of(tool, args)
        if self._principal_resolver is not None:
            principal = self._principal_resolver(tool, args)
        return {"environment": self._guard.environment, "principal": known(principal)}


def refuse(on_postcondition_warn: Any) -> None:
    """What a rule does with a result is written in the rule."""
    if on_postcondition_warn is not None:
        raise EdictumConfigError("`on_postcondition_warn` is not here; give the rule `action: redact` or `action: block`")
