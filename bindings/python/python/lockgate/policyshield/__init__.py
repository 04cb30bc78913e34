"""The names of PolicyShield, on Lockgate: ``from lockgate.policyshield import ShieldEngine``.

>>> engine = ShieldEngine("rules.yaml")
>>> result = engine.check("deploy", {"env": "prod"}, context={"user_role": "developer"})

Modules have PolicyShield's names too: ``lockgate.policyshield.shield.engine``, ``.decorators``, ``.core.models`` and so on. Rules mean
what docs/from/policyshield.md says, and whatever goes wrong blocks. What a tool returned is given to ``post_check``, which
settles the oldest call of that tool and says what may be passed on.
"""

from .engine import AsyncShieldEngine, ShieldEngine
from .exceptions import ApprovalRequiredError, PolicyShieldError, PolicyShieldParseError
from .models import PostCheckResult, RuleConfig, RuleSet, ShieldMode, ShieldResult, Verdict

__all__ = [
    "ApprovalRequiredError",
    "AsyncShieldEngine",
    "PolicyShieldError",
    "PolicyShieldParseError",
    "PostCheckResult",
    "RuleConfig",
    "RuleSet",
    "ShieldEngine",
    "ShieldMode",
    "ShieldResult",
    "Verdict",
]
