"""PolicyShield's ``policyshield.core.models``."""

from ..models import *  # noqa: F403
