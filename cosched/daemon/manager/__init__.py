"""The resource manager as the daemon uses it, behind threads. Start at `resource_manager`."""
