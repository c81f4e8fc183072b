"""The HTTP API, and in time the pages, over one `Service`. `cosched.portal.api.build` makes it."""
