"""PolicyShield's ``policyshield.shield.async_engine``."""

from ..engine import *  # noqa: F403
