"""PolicyShield's ``policyshield.shield``."""

from ..engine import *  # noqa: F403
