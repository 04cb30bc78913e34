"""PolicyShield's ``policyshield.approval.memory``."""

from . import InMemoryBackend  # noqa: F401
