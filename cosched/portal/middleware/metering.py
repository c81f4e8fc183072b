"""Measure requests for Prometheus."""

import time

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

__all__ = ["MeterMiddleware", "RequestMetrics"]

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # seconds


class RequestMetrics:
    """Counts requests and how long they took."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._answers = Counter("cosched_http_requests", "Requests answered.", ("method", "status"), registry=registry)
        self._seconds = Histogram(
            "cosched_http_request_seconds",
            "Seconds from a request's head to its answer's.",
            buckets=_BUCKETS,
            registry=registry,
        )

    def count(self, method: str, status: int, seconds: float) -> None:
        """Take note of an answer."""
        known = method if method in ("GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS") else "other"
        self._answers.labels(known, str(status)).inc()
        self._seconds.observe(seconds)


class MeterMiddleware:
    """ASGI middleware: has every answer counted."""

    def __init__(self, app: "ASGIApp", requests: RequestMetrics) -> None:
        """Wrap `app`."""
        self._app = app
        self._requests = requests

    async def __call__(self, scope: "Connection", receive: "Receive", send: "Send") -> None:
        """Pass the request on and count its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def counted(message: "Message") -> None:
            if message["type"] == "http.response.start":
                self._requests.count(scope["method"], message["status"], time.perf_counter() - began)
            await send(message)

        await self._app(scope, receive, counted)
