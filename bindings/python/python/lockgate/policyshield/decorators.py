"""PolicyShield's decorators: functions that run only when the rules agree."""

from __future__ import annotations

import functools
import inspect
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

from .._lockgate import Permit, Question
from ..errors import LockgateError
from ..guard import plain, settle_failure
from .engine import ShieldEngine
from .exceptions import ApprovalRequiredError, CallDenied

__all__ = ["guard", "shield"]

NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def shield(
    engine: ShieldEngine,
    tool_name: str | None = None,
    session_id: str = "default",
    on_block: str = "raise",
    context: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Guards a function: it runs with the input that the rules agree to, and its output is masked or withheld.

    A call that must not run raises ``PermissionError``, or returns None with ``on_block="return_none"``.
    """
    if on_block not in ("raise", "return_none"):
        raise LockgateError(f"`{on_block}` is not known; use `raise` or `return_none`")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = tool_name or function.__name__
        signature = inspect.signature(function)
        if any(it.kind not in NAMED for it in signature.parameters.values()):
            raise LockgateError(f"`{name}` takes arguments without names; rules need a name for each")

        def judged(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Permit | None:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            try:
                return permit_for(engine, name, dict(bound.arguments), session_id, context)
            except CallDenied:
                if on_block == "raise":
                    raise
                return None

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def shielded_async(*args: Any, **kwargs: Any) -> Any:
                permit = judged(args, kwargs)
                if permit is None:
                    return None
                try:
                    value = await function(**permit.input)
                except BaseException as error:
                    settle_failure(permit, error)
                    raise
                return settled(permit, value, on_block == "raise")

            return shielded_async

        @functools.wraps(function)
        def shielded(*args: Any, **kwargs: Any) -> Any:
            permit = judged(args, kwargs)
            if permit is None:
                return None
            return run(permit, function, on_block == "raise")

        return shielded

    return decorate


def guard(
    tool_name: str, engine: ShieldEngine | None = None, on_block: str = "raise", session_id: str = "default"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """:func:`shield` with the name first; without an engine, that of ``POLICYSHIELD_RULES`` or ``policies/rules.yaml``."""
    return shield(engine or default_engine(), tool_name, session_id, on_block)


_default: ShieldEngine | None = None
_default_lock = threading.Lock()


def default_engine() -> ShieldEngine:
    """The engine of functions that name none."""
    global _default
    with _default_lock:
        if _default is None:
            _default = ShieldEngine(os.environ.get("POLICYSHIELD_RULES", "policies/rules.yaml"))
        return _default


def permit_for(
    engine: ShieldEngine,
    tool: str,
    args: dict[str, Any],
    session_id: str,
    context: Mapping[str, Any] | None = None,
) -> Permit:
    """A permit to run a call, or :class:`CallDenied`."""
    ruling = engine.rule(tool, args, session_id, None, context)
    if isinstance(ruling, Permit):
        return ruling
    if isinstance(ruling, Question):
        raise ApprovalRequiredError(ruling.sentence, ruling.id)
    raise CallDenied(ruling.sentence)


def run(permit: Permit, function: Callable[..., Any], raises: bool = True) -> Any:
    """Runs a function that may run, and settles."""
    try:
        value = function(**permit.input)
    except BaseException as error:
        settle_failure(permit, error)
        raise
    return settled(permit, value, raises)


def settled(permit: Permit, value: Any, raises: bool = True) -> Any:
    """What may be passed on of a result."""
    output = permit.settle(plain(value))
    if output.decision == "block":
        if raises:
            raise CallDenied(output.sentence or "the output is withheld")
        return None
    return value if output.is_unchanged else output.value
