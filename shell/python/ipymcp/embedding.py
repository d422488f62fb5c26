"""What the embedding process offers: the builtin module of its own, None where this package is tested without it."""

from __future__ import annotations

try:
    import _ipymcp as embedding
except ImportError:
    embedding = None  # type: ignore[assignment]

__all__ = ["embedding"]
