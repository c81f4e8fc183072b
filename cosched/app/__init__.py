"""The application layer: the services of a domain, for pages, routes and agent alike."""
