"""PolicyShield's ``policyshield.core``."""

from ..models import *  # noqa: F403
