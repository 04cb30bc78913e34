"""Edictum's adapter for Google's Agent Development Kit."""

from __future__ import annotations

from typing import Any

from ...adk import GatePlugin
from . import Adapter, refuse

__all__ = ["GoogleADKAdapter"]


class GoogleADKAdapter(Adapter):
    """``Runner(agent=agent, plugins=[adapter.as_plugin()], …)``"""

    def as_plugin(self, on_postcondition_warn: Any = None) -> GatePlugin:
        """The plugin of a runner, for all its agents."""
        refuse(on_postcondition_warn)
        return GatePlugin(self._guard.gate, session=self.session)
