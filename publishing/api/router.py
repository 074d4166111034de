"""Where the calls about issues are joined: one router, because they share addresses."""

from __future__ import annotations

from ninja import Router

router = Router()
