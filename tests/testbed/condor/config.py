"""The configuration of a whole HTCondor pool on one machine: many hosts, loopback only, quick cycles."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING

from tests.testbed.node_size import WHOLE, NodeSize

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SECOND_SCHEDULER", "pool_configuration"]

_COMMON = """\
# Written by the testbed for one pool; removed with it.
RELEASE_DIR = {prefix}/usr
LOCAL_DIR = {directory}
BIN = $(RELEASE_DIR)/bin
SBIN = $(RELEASE_DIR)/sbin
LIBEXEC = $(RELEASE_DIR)/libexec/condor
LIB = $(RELEASE_DIR)/lib
LOG = $(LOCAL_DIR)/log
SPOOL = $(LOCAL_DIR)/queue
EXECUTE = $(LOCAL_DIR)/execute
LOCK = $(LOG)
RUN = $(LOG)
LOCAL_CONFIG_FILE =
LOCAL_CONFIG_DIR =
REQUIRE_LOCAL_CONFIG_FILE = false
{ids}

# Loopback and free ports; several pools live side by side.
CONDOR_HOST = 127.0.0.1
COLLECTOR_HOST = 127.0.0.1:0
COLLECTOR_ADDRESS_FILE = $(LOG)/.collector_address
NETWORK_INTERFACE = 127.0.0.1
BIND_ALL_INTERFACES = false
ENABLE_IPV6 = false
USE_SHARED_PORT = false
DAEMON_SOCKET_DIR = $(LOG)/sock
UID_DOMAIN = pool
FILESYSTEM_DOMAIN = pool
TRUST_DOMAIN = pool
SCHEDD_NAME = schedd
STARTER_ALLOW_RUNAS_OWNER = false

# Whoever holds a token signed with the pool's key, or is the pool's own user, may do all; nobody else anything.
SEC_DEFAULT_AUTHENTICATION = REQUIRED
SEC_DEFAULT_AUTHENTICATION_METHODS = IDTOKENS
SEC_DEFAULT_ENCRYPTION = OPTIONAL
SEC_DEFAULT_INTEGRITY = REQUIRED
SEC_PASSWORD_DIRECTORY = $(LOCAL_DIR)/passwords.d
SEC_TOKEN_POOL_SIGNING_KEY_FILE = $(SEC_PASSWORD_DIRECTORY)/POOL
SEC_TOKEN_DIRECTORY = {tokens}
SEC_TOKEN_SYSTEM_DIRECTORY = {tokens}
ALLOW_READ = *
ALLOW_WRITE = *@pool
ALLOW_DAEMON = *@pool
ALLOW_NEGOTIATOR = *@pool
ALLOW_ADMINISTRATOR = *@pool
ALLOW_CONFIG =
ALLOW_CLIENT = *

# Nothing waits for a period to pass.
NEGOTIATOR_INTERVAL = 1
NEGOTIATOR_MIN_INTERVAL = 0
NEGOTIATOR_CYCLE_DELAY = 0
NEGOTIATOR_CONSIDER_EARLY_PREEMPTION = false
SCHEDD_INTERVAL = 1
SCHEDD_MIN_INTERVAL = 0
JOB_START_COUNT = 100
JOB_START_DELAY = 0
UPDATE_INTERVAL = 5
MASTER_UPDATE_INTERVAL = 5
NEGOTIATOR_UPDATE_INTERVAL = 5
CLASSAD_LIFETIME = 15
CLAIM_WORKLIFE = 1200
UNUSED_CLAIM_TIMEOUT = 1
MASTER_BACKOFF_CONSTANT = 1
MASTER_BACKOFF_CEILING = 2
MASTER_NEW_BINARY_DELAY = 1000000
MASTER_CHECK_NEW_EXEC_INTERVAL = 1000000
USE_PROCD = true
# Questions are answered without a process for each.
SCHEDD_QUERY_WORKERS = 0
COLLECTOR_QUERY_WORKERS = 0
HANDLE_QUERY_IN_PROC_POLICY = always
RUNBENCHMARKS = false
ENABLE_URL_TRANSFERS = false
FILETRANSFER_PLUGINS =
DEFAULT_USERLOG_FORMAT_OPTIONS = SUB_SECOND,UTC
ENABLE_USERLOG_LOCKING = false
CONDOR_ADMIN =
JAVA =
COLLECTOR_BOOTSTRAP_SSL_CERTIFICATE = false
MAX_DEFAULT_LOG = 4 Mb

START = true
SUSPEND = false
PREEMPT = false
KILL = false
WANT_SUSPEND = false
WANT_VACATE = false
# All or nothing (parallel universe): every host may be had by the one scheduler.
DedicatedScheduler = "DedicatedScheduler@schedd@{machine}"
STARTD_ATTRS = $(STARTD_ATTRS) DedicatedScheduler
RANK = Scheduler =?= $(DedicatedScheduler)
NUM_CPUS = {node.cores}
MEMORY = {node.memory}
"""

_WHOLE_HOST = """\
NUM_SLOTS_TYPE_1 = 1
SLOT_TYPE_1 = 100%
SLOT_TYPE_1_PARTITIONABLE = false
"""
_SHARED_HOSTS = Path(__file__).parents[3] / "etc" / "condor" / "40-cosched-shared-hosts.conf"

_HOST = """\
{key} = $(SBIN)/condor_startd
{key}_ARGS = -f -local-name {key}
{key}.NETWORK_HOSTNAME = {name}
{key}.STARTD_LOG = $(LOG)/StartLog.{name}
{key}.STARTER_LOG = $(LOG)/StarterLog.{name}
{key}.STARTD_ADDRESS_FILE = $(LOG)/.startd_address.{name}
{key}.STARTD_CLAIM_ID_FILE = $(LOG)/.startd_claim.{name}
{key}.EXECUTE = $(EXECUTE)/{name}
"""


SECOND_SCHEDULER = """
SCHEDD2 = $(SBIN)/condor_schedd
SCHEDD2_ARGS = -f -local-name SCHEDD2
SCHEDD2.SCHEDD_NAME = second
SCHEDD2.SCHEDD_LOG = $(LOG)/SchedLog.second
SCHEDD2.SPOOL = $(LOCAL_DIR)/queue2
SCHEDD2.HISTORY = $(LOCAL_DIR)/queue2/history
SCHEDD2.SCHEDD_ADDRESS_FILE = $(LOCAL_DIR)/queue2/.schedd_address
SCHEDD2.SCHEDD_DAEMON_AD_FILE = $(LOCAL_DIR)/queue2/.schedd_classad
DAEMON_LIST = $(DAEMON_LIST), SCHEDD2
DC_DAEMON_LIST = $(DC_DAEMON_LIST) SCHEDD2
"""


def pool_configuration(
    prefix: Path,
    directory: Path,
    tokens: Path,
    hosts: Sequence[str],
    ids: tuple[int, int] | None,
    node: NodeSize = WHOLE,
) -> str:
    """Return the text of a condor_config.

    Args:
        prefix: where HTCondor is unpacked.
        directory: the pool's own folder.
        tokens: folder of the token that daemons or clients show.
        hosts: names of the hosts, one startd each.
        ids: user and group that the daemons run as where root starts them.
        node: size of each host: one static slot where it is a whole one, else one that jobs partition.
    """
    text = _COMMON.format(
        prefix=prefix,
        directory=directory,
        tokens=tokens,
        machine=socket.gethostname(),
        ids=f"CONDOR_IDS = {ids[0]}.{ids[1]}" if ids else "",
        node=node,
    )
    text += _WHOLE_HOST if node == WHOLE else _SHARED_HOSTS.read_text()
    if node.gpus:
        text += f"MACHINE_RESOURCE_GPUS = {', '.join(f'CUDA{number}' for number in range(node.gpus))}\n"
    keys = [name.upper() for name in hosts]
    text += f"DAEMON_LIST = MASTER, COLLECTOR, NEGOTIATOR, SCHEDD, {', '.join(keys)}\n"
    text += f"DC_DAEMON_LIST = + {' '.join(keys)}\n"
    return text + "".join(_HOST.format(key=key, name=name) for key, name in zip(keys, hosts, strict=True))
