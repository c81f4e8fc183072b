"""API routes under /api/v1, one module a noun, each with functions that return a router."""
