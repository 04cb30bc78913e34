"""PolicyShield's ``policyshield.approval.base``."""

from . import ApprovalBackend, ApprovalRequest, ApprovalResponse  # noqa: F401
