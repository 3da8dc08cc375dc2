"""Answer where the gigabytes went, from logs and telemetry of self-hosted LLM servers.

What `__all__` names stays as it is, docs/api.md says how to use it; everything else may move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import Case, open_case
    from .errors import ForensicsError

__all__ = ["Case", "ForensicsError", "__version__", "open_case"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: a version alone needs no database."""
    if name in {"Case", "open_case"}:
        from . import api  # noqa: PLC0415

        return getattr(api, name)
    if name == "ForensicsError":
        from .errors import ForensicsError  # noqa: PLC0415

        return ForensicsError
    raise AttributeError(f"module 'forensics' has no attribute {name!r}")
