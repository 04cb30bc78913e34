"""The names of Edictum, on Lockgate: ``from lockgate.edictum import Edictum``.

>>> guard = Edictum.from_yaml("rules.yaml")
>>> result = await guard.run("read_file", {"path": "notes.md"}, read_file)

Rules and workflows mean what docs/from/edictum.md says. ``guard.gate`` is the Lockgate gate, for the adapters of agent
frameworks: ``lockgate.langchain.GateMiddleware(guard.gate)``.
"""

from .audit import (
    AuditAction,
    AuditEvent,
    AuditSink,
    CollectingAuditSink,
    CompositeSink,
    FileAuditSink,
    MarkEvictedError,
    RedactionPolicy,
    StdoutAuditSink,
)
from .guard import Edictum
from .loading import TemplateInfo
from .model import (
    ApprovalBackend,
    ApprovalDecision,
    ApprovalRequest,
    ApprovalStatus,
    EdictumConfigError,
    EdictumDenied,
    EdictumToolError,
    EvaluationResult,
    Principal,
    RuleResult,
    ToolCall,
)

__all__ = [
    "ApprovalBackend",
    "ApprovalDecision",
    "ApprovalRequest",
    "ApprovalStatus",
    "AuditAction",
    "AuditEvent",
    "AuditSink",
    "CollectingAuditSink",
    "CompositeSink",
    "Edictum",
    "EdictumConfigError",
    "EdictumDenied",
    "EdictumToolError",
    "EvaluationResult",
    "FileAuditSink",
    "MarkEvictedError",
    "Principal",
    "RedactionPolicy",
    "RuleResult",
    "StdoutAuditSink",
    "TemplateInfo",
    "ToolCall",
]
