"""PolicyShield's ``policyshield.core.parser``."""

from ..rules import *  # noqa: F403
