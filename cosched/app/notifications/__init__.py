"""Notifications: notices to the users of tasks, by mail and over HTTP. Start at `notifier`."""
