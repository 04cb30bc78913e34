"""Policies, gates and sessions."""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar, overload

from . import _lockgate
from ._lockgate import ManualClock, Output, Permit, Question, Refusal
from .errors import InputError, LockgateError
from .guard import Approver, close_coroutine, guarded, run, run_async

__all__ = ["Gate", "Policy", "Session"]

Ruling = Permit | Question | Refusal
Function = TypeVar("Function", bound=Callable[..., Any])

#: Looks at a call that a net would let pass. Returns None to agree, or a string that says why not.
Validator = Callable[[dict[str, Any], dict[str, Any]], "str | None"]
#: Notes what a success means.
ResultHook = Callable[[dict[str, Any], dict[str, Any]], None]
#: Gets every call with its verdict, after it was stored.
Listener = Callable[[dict[str, Any], dict[str, Any]], None]

#: What the host knows about calls: sender, principal, context, metadata, environment, cwd, parent. A function gets the tool and
#: its input.
About = Mapping[str, Any] | Callable[[str, dict[str, Any]], Mapping[str, Any]]

#: How long a question is open if nothing else is said.
ANSWER_SECONDS = 600.0

_current: contextvars.ContextVar[Session | None] = contextvars.ContextVar("lockgate_session", default=None)


class Policy:
    """Rules that were read and compiled. Loading fails with :class:`PolicyError` if there is any mistake."""

    __slots__ = ("_policy",)

    def __init__(
        self,
        *files: str | os.PathLike[str],
        texts: Mapping[str, str] | None = None,
        selectors: Iterable[str] = (),
    ) -> None:
        """Reads files and folders, and texts by the names that stand for their files.

        ``selectors`` are first words that rulesets may look at, because the gate's ``describe`` answers them.
        """
        self._policy = _lockgate.Policy(list(files), list((texts or {}).items()), list(selectors))

    @classmethod
    def rules(cls, text: str) -> Policy:
        """One-line rules from a text."""
        return cls(texts={"policy.rules": text})

    @property
    def hash(self) -> str:
        """The same if and only if the same files are read in the same order."""
        return self._policy.hash

    @property
    def rule_names(self) -> list[str]:
        """The names of the rules, in file order."""
        return self._policy.rule_names

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Warnings and notes for the author."""
        return self._policy.findings

    def verify(self) -> dict[str, Any]:
        """What `lockgate verify --json` prints: nets, findings, and every claim proved or broken by a session."""
        return self._policy.verify()

    def rules_about(self, tool: str) -> list[dict[str, Any]]:
        """The rules that look at calls of a tool (check, sandbox, session) or at their results (output), in file order.

        Rules that remember by a net and workflows are not among them: they look at deeds and stages.
        """
        return self._policy.rules_about(tool)

    def see(self, tool: str, input: dict[str, Any] | None = None, **about: Any) -> dict[str, Any]:
        """What the gate sees in a call: commands, paths, hosts, sensitive data, deeds and doubts. Nothing is judged."""
        return self._policy.see(tool, input, **about)

    def diff(self, newer: Policy) -> dict[str, Any]:
        """The shortest sessions that tell this policy from a newer one."""
        return self._policy.diff(newer._policy)

    def __repr__(self) -> str:
        return repr(self._policy)


class Gate:
    """A policy in force. One gate serves all sessions and threads of a program."""

    def __init__(
        self,
        policy: Policy | str | os.PathLike[str],
        *,
        store: str = "memory",
        mode: str = "enforce",
        approver: Approver | None = None,
        wait_seconds: float | None = None,
        clock: ManualClock | None = None,
        validators: Mapping[str, Validator] | None = None,
        on_results: Mapping[str, ResultHook] | None = None,
        describe: Mapping[str, Callable[[dict[str, Any]], Any]] | None = None,
        on_decision: Listener | None = None,
        names: Mapping[str, Iterable[str]] | None = None,
        active: Iterable[str] | None = None,
        answer_seconds: float | None = None,
        result_seconds: float | None = None,
        run_programs: bool = False,
        restore: Mapping[str, str] | None = None,
    ) -> None:
        """Puts a policy in force.

        ``policy`` is a :class:`Policy`, or the path of a file or folder. ``store`` is ``memory`` or ``sqlite:FILE``.
        ``approver`` answers questions of guarded tools; without one, they wait ``wait_seconds`` for an answer from
        elsewhere, and without that a call that needs a human is blocked. ``restore`` are sessions that
        :meth:`Session.to_json` wrote, by name.
        """
        if not isinstance(policy, Policy):
            policy = Policy(policy)
        self.policy = policy
        self.approver = approver
        self.wait_seconds = wait_seconds
        #: How long an approver that is a coroutine function has: as long as the question is open, unless something else is said.
        self.approver_seconds = wait_seconds or answer_seconds or ANSWER_SECONDS
        #: Whether a decision waits for a disk, so that an event loop should not.
        self.is_slow = store != "memory"
        self._gate = _lockgate.Gate(
            policy._policy,
            {
                "store": store,
                "mode": mode,
                "names": [[name, list(members)] for name, members in (names or {}).items()],
                "active": None if active is None else list(active),
                "answer_seconds": answer_seconds,
                "result_seconds": result_seconds,
                "run_programs": run_programs,
                "restore": dict(restore or {}),
            },
            {
                "validators": dict(validators or {}),
                "on_results": dict(on_results or {}),
                "describe": dict(describe or {}),
                "on_decision": on_decision,
            },
            clock,
        )

    @classmethod
    def open(cls, path: str | os.PathLike[str], **options: Any) -> Gate:
        """A gate under the policy of a file, or of the policy files of a folder."""
        return cls(Policy(path), **options)

    def session(self, name: str, *, unattended: bool = False, about: About | None = None) -> Session:
        """One agent's conversation. In a ``with`` block it is the session of all guarded tools.

        ``about`` is told with each of its calls, those of framework adapters too: ``about={"principal": {"role": "sre"}}``.
        """
        return Session(self, name, unattended=unattended, about=about)

    def current_session(self) -> Session:
        """The session of the ``with`` block around the caller."""
        session = _current.get()
        if session is None or session.gate is not self:
            raise LockgateError(
                "no session: call the tool inside `with gate.session(\"NAME\"):`, one name per conversation"
            )
        return session

    def session_for(self, name: str | Session | None, own: str | None) -> Session:
        """The session that counts for an adapter: one by name, that of the ``with`` block, or the framework's own.

        There is no default: a session that many conversations share lets one spend the budget of another.
        """
        current = _current.get()
        if isinstance(name, Session):
            return name
        if name is not None:
            # The block around the caller may know more about the same session.
            return current if current is not None and current.gate is self and current.name == name else self.session(name)
        if current is not None and current.gate is self:
            return current
        if own:
            return self.session(own)
        return self.current_session()

    def evaluate(
        self, tool: str, input: dict[str, Any] | None = None, output: Any = None, **about: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the rules say to a call by itself, and what would be passed on of ``output``.

        There is no session: nothing is stored, no human is asked, and workflows take no part.
        """
        return self._gate.evaluate(tool, input, output, **about)

    def answer(self, question: str, granted: bool, by: str) -> None:
        """Stores a human's answer to a question. The call goes on where it is waited for."""
        self._gate.answer(question, granted, by)

    def halt(self, reason: str) -> None:
        """Blocks every call of every session from now on."""
        self._gate.halt(reason)

    def resume(self) -> None:
        """Ends a halt."""
        self._gate.resume()

    @overload
    def tool(self, function: Function, /) -> Function: ...
    @overload
    def tool(
        self, *, name: str | None = ..., session: str | None = ..., is_failure: Callable[[Any], bool] | None = ...
    ) -> Callable[[Function], Function]: ...
    def tool(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        session: str | None = None,
        is_failure: Callable[[Any], bool] | None = None,
    ) -> Any:
        """Guards a function: every call is judged, run with the input that the rules agree to, and settled.

        A call that must not run raises :class:`Blocked`. The input is the arguments by their names, and the tool gets
        exactly what was judged. ``is_failure`` says which results are failures, besides exceptions.
        """

        def guard(function: Callable[..., Any]) -> Callable[..., Any]:
            def find() -> Session:
                return self.current_session() if session is None else self.session(session)

            return guarded(function, name or function.__name__, find, is_failure)

        return guard if function is None else guard(function)


class Session:
    """One agent's conversation: what its rules remember. Sessions of one name are one session."""

    def __init__(self, gate: Gate, name: str, *, unattended: bool = False, about: About | None = None) -> None:
        self.gate = gate
        self._about = about
        self._session = gate._gate.session(name, unattended=unattended)
        # Guarded tools ask only where somebody can answer.
        is_alone = gate.approver is None and gate.wait_seconds is None
        self._guarded = gate._gate.session(name, unattended=True) if is_alone else self._session
        self._tokens: list[contextvars.Token[Session | None]] = []

    @property
    def name(self) -> str:
        """The name of the session."""
        return self._session.name

    def __enter__(self) -> Session:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._tokens.pop())

    def call(self, tool: str, input: dict[str, Any] | None = None, **about: Any) -> Ruling:
        """Judges a call: a permit to run it, a question to a human, or a refusal.

        ``about`` is what the host knows: id, cwd, environment, parent, sender, principal, context, metadata.
        """
        return self._session.call(tool, input, **self._told(tool, input, about))

    async def acall(self, tool: str, input: dict[str, Any] | None = None, **about: Any) -> Ruling:
        """The same, without keeping the event loop waiting for a disk."""
        return await self._judge_async(self._session, tool, input, about)

    def judge(self, tool: str, input: dict[str, Any] | None, about: Mapping[str, Any]) -> Ruling:
        """Judges a call of a guarded tool: it asks only where somebody can answer."""
        return self._guarded.call(tool, input, **self._told(tool, input, about))

    async def judge_async(self, tool: str, input: dict[str, Any] | None, about: Mapping[str, Any]) -> Ruling:
        """The same, without keeping the event loop waiting for a disk."""
        return await self._judge_async(self._guarded, tool, input, about)

    async def _judge_async(
        self,
        session: _lockgate.Session,
        tool: str,
        input: dict[str, Any] | None,
        about: Mapping[str, Any],
    ) -> Ruling:
        about = self._told(tool, input, about)
        if self.gate.is_slow:
            return await asyncio.to_thread(session.call, tool, input, **about)
        return session.call(tool, input, **about)

    def _told(self, tool: str, input: dict[str, Any] | None, about: Mapping[str, Any]) -> Mapping[str, Any]:
        """What is told about a call: what the session says of all its calls, and what is said of this one."""
        if self._about is None:
            return about
        told = self._about(tool, input or {}) if callable(self._about) else self._about
        if not isinstance(told, Mapping):
            close_coroutine(told)
            raise InputError(f"what is told about the calls of a session is a {type(told).__name__} and not a dict")
        return {**told, **{key: value for key, value in about.items() if value is not None}}

    def run(self, tool: str, input: dict[str, Any], function: Callable[..., Any], **about: Any) -> Any:
        """Judges a call, runs ``function(**input)`` and settles. Raises :class:`Blocked` if it must not run."""
        return run(self, tool, input, lambda judged: function(**judged), about)

    async def arun(
        self, tool: str, input: dict[str, Any], function: Callable[..., Awaitable[Any]], **about: Any
    ) -> Any:
        """The same for a coroutine function."""
        return await run_async(self, tool, input, lambda judged: function(**judged), about)

    def explain(self, tool: str, input: dict[str, Any] | None = None, **about: Any) -> list[dict[str, Any]]:
        """What each rule says to a call now, by itself. Nothing is stored."""
        return self._session.explain(tool, input, **self._told(tool, input, about))

    def settle(self, call_id: str, output: Any = None, *, ok: bool = True) -> Output:
        """Stores the result of a call whose permit was detached."""
        return self._session.settle(call_id, output, ok=ok)

    def status(self) -> dict[str, Any]:
        """Where the session stands: nets, counters, workflows, open questions."""
        return self._session.status()

    def prompt(self) -> str:
        """What the model should know now, for a system prompt."""
        return self._session.prompt()

    def questions(self) -> list[str]:
        """The ids of the open questions."""
        return self._session.questions()

    def question(self, id: str) -> Question:
        """Goes on with a question by its name, where another part of the program or another process asked it."""
        return self._session.question(id)

    def is_held(self) -> bool:
        """Whether another policy is in force than the one that the session is bound to. Then both decide."""
        return self._session.is_held()

    def accept_policy(self, by: str) -> None:
        """Binds the session to the policy in force. For a human who has seen what the change opens."""
        self._session.accept_policy(by)

    def describe(self, **attributes: Any) -> None:
        """Facts about the session from the host, such as a role; None removes one. Never from the agent."""
        self._session.describe(attributes)

    def replay(self, history: Iterable[tuple[str, dict[str, Any], bool]]) -> list[dict[str, Any]]:
        """Adds calls that ran before the gate was there: (tool, input, succeeded)."""
        return self._session.replay(list(history))

    def seed(self, *, tool_calls: int = 0, attempts: int = 0, per_tool: Mapping[str, int] | None = None) -> bool:
        """Sets the counters of a new session. Returns False if the session has begun already."""
        return self._session.seed(tool_calls, attempts, list((per_tool or {}).items()))

    def halt(self, reason: str) -> None:
        """Blocks every call of this session from now on."""
        self._session.halt(reason)

    def resume(self) -> None:
        """Ends a halt of this session."""
        self._session.resume()

    def hear(self, text: str) -> None:
        """Tells the gate what the user said to the agent, for rules such as ``must come from user``.

        Only words of the human count: never pass on what the agent or a tool wrote.
        """
        self._session.hear(text)

    def untaint(self) -> None:
        """Forgets that sensitive data was seen: what that closed is open again."""
        self._session.untaint()

    def move_stage(self, workflow: str, stage: str, *, drop_evidence: bool = False) -> None:
        """Moves a workflow to a stage. With ``drop_evidence`` it begins there anew."""
        self._session.move_stage(workflow, stage, drop_evidence=drop_evidence)

    def notes(self, net: str) -> dict[str, Any]:
        """What the validator and the result hook of a net have noted."""
        return self._session.notes(net)

    def activate(self, name: str) -> str:
        """Switches a net, a file or a name on in this session."""
        return self._session.activate(name)

    def deactivate(self, name: str) -> str:
        """Switches a net, a file or a name off in this session."""
        return self._session.deactivate(name)

    def to_json(self) -> str:
        """The session as JSON, to go on with it elsewhere. Keep it where the agent cannot change it."""
        return self._session.to_json()

    def __repr__(self) -> str:
        return repr(self._session)
