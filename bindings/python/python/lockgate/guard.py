"""The one loop around a tool: judge, ask, run, settle. The decorator and every adapter use it.

Each call that was let pass is settled exactly once: with its result, or as a failure when it raised or was cancelled.
Whatever goes wrong before the tool runs means that it does not run.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from ._lockgate import Permit, Question, Refusal
from .errors import Blocked, InputError, LockgateError

if TYPE_CHECKING:
    from .gate import Session

#: Answers a question. Only True is a yes; an exception, a timeout or anything else is a no.
Approver = Callable[[Question], "bool | Awaitable[bool]"]

Ruling = Permit | Question | Refusal

#: What crosses the border as it is; what it holds is looked at there.
PLAIN = frozenset((type(None), str, int, float, bool, list, tuple, dict))

#: Who answered, for the audit log, when an approver did.
APPROVER = "the approver of the program"


def permit_of(session: Session, ruling: Ruling) -> Permit:
    """The permit of a ruling, after asking where a human must be asked.

    Raises `Blocked` if the call must not run.
    """
    while isinstance(ruling, Question):
        approver, wait = session.gate.approver, session.gate.wait_seconds
        if approver is None:
            ruling = ruling.wait(wait or 0.0)
            continue
        granted = _ask(approver, ruling)
        if inspect.isawaitable(granted):
            close_coroutine(granted)
            granted = False
        ruling = ruling.answer(granted is True, APPROVER)
    if isinstance(ruling, Refusal):
        raise Blocked(ruling)
    return ruling


async def permit_of_async(session: Session, ruling: Ruling) -> Permit:
    """The same; the approver may be a coroutine function."""
    while isinstance(ruling, Question):
        approver, wait = session.gate.approver, session.gate.wait_seconds
        if approver is None:
            ruling = await asyncio.to_thread(ruling.wait, wait or 0.0)
            continue
        granted = _ask(approver, ruling)
        if inspect.isawaitable(granted):
            try:
                granted = await asyncio.wait_for(granted, session.gate.approver_seconds)
            except (TimeoutError, asyncio.TimeoutError):
                # The gate knows whether every asking rule takes silence for a yes, and whether its time is over.
                ruling = await asyncio.to_thread(ruling.wait, 0.0)
                continue
            except Exception:
                granted = False
        ruling = ruling.answer(granted is True, APPROVER)
    if isinstance(ruling, Refusal):
        raise Blocked(ruling)
    return ruling


def _ask(approver: Approver, question: Question) -> Any:
    try:
        return approver(question)
    except Exception:
        return False


def close_coroutine(awaitable: Any) -> None:
    """Ends a coroutine that nobody will await."""
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()


def run(
    session: Session,
    tool: str,
    input: dict[str, Any],
    function: Callable[[dict[str, Any]], Any],
    about: Mapping[str, Any] | None = None,
    is_failure: Callable[[Any], bool] | None = None,
) -> Any:
    """Judges a call, runs `function` with the input that the rules agree to, and settles."""
    permit = permit_of(session, session.judge(tool, input, about or {}))
    try:
        value = function(permit.input)
    except BaseException as error:
        settle_failure(permit, error)
        raise
    return settle(permit, value, is_failure)


async def run_async(
    session: Session,
    tool: str,
    input: dict[str, Any],
    function: Callable[[dict[str, Any]], Awaitable[Any]],
    about: Mapping[str, Any] | None = None,
    is_failure: Callable[[Any], bool] | None = None,
) -> Any:
    """The same for a coroutine function."""
    permit = await permit_of_async(session, await session.judge_async(tool, input, about or {}))
    try:
        value = await function(permit.input)
    except BaseException as error:
        settle_failure(permit, error)
        raise
    return settle(permit, value, is_failure)


def settle(permit: Permit, value: Any, is_failure: Callable[[Any], bool] | None = None) -> Any:
    """Settles a call that ran, and returns what may be passed on of its value."""
    try:
        output = plain(value)
        ok = is_failure is None or not is_failure(value)
    except BaseException as error:
        # The tool ran, and nobody can say what came of it.
        settle_failure(permit, error)
        raise
    output = permit.settle(output, ok=ok)
    return value if output.is_unchanged else output.value


def settle_failure(permit: Permit, error: BaseException) -> None:
    """Settles a call that raised. If even that fails, the call lapses, which opens nothing."""
    try:
        permit.settle(f"{type(error).__name__}: {error}", ok=False)
    except LockgateError:
        pass


def plain(value: Any) -> Any:
    """A tool's value as plain JSON, which rules on results can look at."""
    if type(value) in PLAIN:
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if value is None or isinstance(value, (str, int, float, bool, list, tuple, dict)):
        return value
    raise InputError(
        f"the tool returned a {type(value).__name__}, which rules on results cannot look at; "
        "return plain JSON, a dataclass or a pydantic model"
    )


def guarded(
    function: Callable[..., Any],
    name: str,
    session: Callable[[], Session],
    is_failure: Callable[[Any], bool] | None,
) -> Callable[..., Any]:
    """A function whose every call is judged."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise LockgateError(f"`{name}` is a generator; rules look at whole results, so return one")
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    owner = parameters[0].name if parameters and parameters[0].name in ("self", "cls") else None
    rest = next((it.name for it in parameters if it.kind is inspect.Parameter.VAR_KEYWORD), None)
    if any(it.kind is inspect.Parameter.VAR_POSITIONAL for it in parameters):
        raise LockgateError(f"`{name}` takes any number of positional arguments; rules need a name for each")

    # What every tool of a framework is: arguments by name, and nothing else. Binding costs more than judging.
    is_simple = owner is None and all(it.kind is not inspect.Parameter.POSITIONAL_ONLY for it in parameters)
    names = frozenset(signature.parameters) - {rest}
    defaults = {it.name: it.default for it in parameters if it.default is not inspect.Parameter.empty}

    def input_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        if is_simple and not args:
            input = {**defaults, **kwargs}
            # Otherwise an argument is missing or unknown, and binding says which.
            if names <= input.keys() and (rest is not None or len(input) == len(names)):
                return input, {}
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        input = dict(bound.arguments)
        kept = {owner: input.pop(owner)} if owner else {}
        if rest:
            input.update(input.pop(rest))
        return input, kept

    def call(judged: dict[str, Any], kept: dict[str, Any]) -> Any:
        if is_simple:
            return function(**judged)
        named = {**judged, **kept}
        positional = [
            named.pop(it.name) for it in parameters if it.kind is inspect.Parameter.POSITIONAL_ONLY
        ]
        return function(*positional, **named)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def guarded_async(*args: Any, **kwargs: Any) -> Any:
            input, kept = input_of(args, kwargs)
            return await run_async(
                session(), name, input, lambda judged: call(judged, kept), is_failure=is_failure
            )

        return guarded_async

    @functools.wraps(function)
    def guarded_sync(*args: Any, **kwargs: Any) -> Any:
        input, kept = input_of(args, kwargs)
        return run(session(), name, input, lambda judged: call(judged, kept), is_failure=is_failure)

    return guarded_sync
