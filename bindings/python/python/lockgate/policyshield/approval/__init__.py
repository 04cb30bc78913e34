"""Backends that ask humans, as PolicyShield has them."""

from __future__ import annotations

import abc
import dataclasses
import datetime
import threading
import time
import uuid
from typing import Any

__all__ = ["ApprovalBackend", "ApprovalRequest", "ApprovalResponse", "InMemoryBackend"]


#: How many answers are kept for those who ask again.
RESPONSES_MAX = 10_000


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


@dataclasses.dataclass(frozen=True)
class ApprovalRequest:
    """A question to a human."""

    request_id: str
    tool_name: str
    args: dict[str, Any]
    rule_id: str
    message: str
    session_id: str
    timestamp: datetime.datetime = dataclasses.field(default_factory=_now)

    @staticmethod
    def create(tool_name: str, args: dict[str, Any], rule_id: str, message: str, session_id: str) -> ApprovalRequest:
        """A question with an id of its own."""
        return ApprovalRequest(str(uuid.uuid4()), tool_name, args, rule_id, message, session_id)


@dataclasses.dataclass(frozen=True)
class ApprovalResponse:
    """A human's answer. Only ``approved is True`` is a yes."""

    request_id: str
    approved: bool
    responder: str = ""
    comment: str = ""
    timestamp: datetime.datetime = dataclasses.field(default_factory=_now)


class ApprovalBackend(abc.ABC):
    """What a program gives to ask a human. The engine submits questions, and looks for answers when a call is checked again."""

    @abc.abstractmethod
    def submit(self, request: ApprovalRequest) -> None:
        """Takes a question on."""

    @abc.abstractmethod
    def wait_for_response(self, request_id: str, timeout: float = 300.0) -> ApprovalResponse | None:
        """The answer, if it comes in time."""

    @abc.abstractmethod
    def respond(self, request_id: str, approved: bool, responder: str = "", comment: str = "") -> None:
        """Answers a question."""

    @abc.abstractmethod
    def pending(self) -> list[ApprovalRequest]:
        """The open questions."""

    def health(self) -> dict[str, Any]:
        """Whether humans can be reached."""
        return {"healthy": True, "latency_ms": 0, "error": None}


class InMemoryBackend(ApprovalBackend):
    """Questions that another part of this program answers. The first answer stands."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._requests: dict[str, ApprovalRequest] = {}
        self._responses: dict[str, ApprovalResponse] = {}

    def submit(self, request: ApprovalRequest) -> None:
        with self._changed:
            self._requests[request.request_id] = request

    def wait_for_response(self, request_id: str, timeout: float = 300.0) -> ApprovalResponse | None:
        end = time.monotonic() + timeout
        with self._changed:
            while request_id not in self._responses:
                left = end - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
            return self._responses.get(request_id)

    def respond(self, request_id: str, approved: bool, responder: str = "", comment: str = "") -> None:
        with self._changed:
            if self._requests.pop(request_id, None) is not None:
                self._responses[request_id] = ApprovalResponse(request_id, approved is True, responder, comment)
                if len(self._responses) > RESPONSES_MAX:
                    self._responses.pop(next(iter(self._responses)))
                self._changed.notify_all()

    def pending(self) -> list[ApprovalRequest]:
        with self._changed:
            return list(self._requests.values())
