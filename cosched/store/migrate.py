"""A database's tables are brought to this version by the migrations, in one transaction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.script.revision import ResolutionError
from alembic.util import CommandError

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["UnknownVersionError", "migrate"]


class UnknownVersionError(Exception):
    """The database has a version that this program does not know."""


def migrate(connection: Connection) -> None:
    """Run the migrations that a database has not had.

    Raises:
        UnknownVersionError: a newer cosched wrote it.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except (CommandError, ResolutionError) as error:
        known = ScriptDirectory.from_config(config).get_current_head()
        raise UnknownVersionError(f"{error}; this one knows version {known}") from error
