"""Edictum's ``edictum.evaluation``."""

from .model import EvaluationResult, RuleResult  # noqa: F401
