"""Edictum's ``edictum.approval``."""

from .model import ApprovalBackend, ApprovalDecision, ApprovalRequest, ApprovalStatus  # noqa: F401
