"""PolicyShield's ``policyshield.shield.engine``."""

from ..engine import *  # noqa: F403
