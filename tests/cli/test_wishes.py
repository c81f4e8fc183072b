"""Twenty-nine wishes of users, each with the commands that fulfil it on local slots.

A wish is a few lines of bash, as a user types them; `submit` prints the identifier of the new task, `has` looks for a
text in what comes in.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.testbed.forked.nursery import QuickSite
from tests.testbed.forked.quick_command import quick_command
from tests.testbed.software import mpi

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.daemon, pytest.mark.xdist_group("wishes")]  # they share one daemon

_PRELUDE = """
has() { cat > heard; grep -qE -- "$1" heard || { echo "no '$1' in:"; cat heard; return 1; } >&2; }
submit() {
    cosched task submit "$@" > accepted || return 1
    sed -nE 's/^task ([0-9]+) .*/\\1/p' accepted
}
refused() { ! cosched "$@" 2> refusal && has "^cosched: " < refusal; }
"""

WISHES = {
    "figures of my own for each number of hosts": """
        id=$(submit --profile 0.2,0.1 -- /bin/true)
        cosched task show $id | has "prediction: .* on 1 host, at best .* on 2 hosts"
        cosched task wait $id""",
    "watch what it writes": """
        id=$(submit -- /bin/sh -c 'echo one; echo two')
        cosched task out $id --follow | has two""",
    "give some of its hosts back while it runs": """
        id=$(submit --elastic workers --hosts 1-3 --runtime 1:60m,2:20m,3:9m --worker '/bin/sleep 1h' -- /bin/sleep 1h)
        until cosched task workers $id | grep -qE '^2 +[^ ]+ +running'; do sleep 0.2; done
        cosched task resize $id --most 2 | has "promised: +[^ ,]+$"
        cosched task workers $id | has "its user wishes for fewer hosts"
        cosched task explain $id | has "at most 2 hosts"
        refused task resize $id
        refused task resize $id --least 3 --most 2
        refused task resize $id --most two
        cosched task cancel $id""",
    "will it make 17:00?": """
        cosched task submit --runtime 1m --deadline 17:00 --dry-run -- /bin/true | has "deadline"
        cosched task list --name true --state queued --json | has '"total": 0|\\[\\]'""",
    "why does it wait?": """
        id=$(submit --begin now+1h --runtime 1m -- /bin/true)
        cosched task explain $id | has "the time from which it may start"
        cosched task cancel $id""",
    "have its output and errors": """
        id=$(submit -- /bin/sh -c 'echo good; echo bad >&2')
        cosched task wait $id
        cosched task out $id > out; has good < out
        cosched task err $id | has bad""",
    "a variable and a folder": """
        mkdir here
        id=$(submit --env COLOUR=blue --directory here -- /bin/sh -c 'echo $COLOUR; pwd')
        cosched task wait $id
        cosched task out $id | has blue; cosched task out $id | has '/here$'""",
    "a deadline with date and zone": """
        for deadline in 2030-01-31T18:00 2030-01-31T18:00+01:00 2030-01-31T17:00Z; do
            cosched task submit --runtime 1s --deadline $deadline --dry-run -- /bin/true | has 2030-01-31
        done""",
    "answers for programs": """
        id=$(submit -- /bin/true)
        cosched task show $id --json | PYTHON -c 'import json, sys; print(json.load(sys.stdin)["name"])' | has true""",
    "Python, in a running event loop, too": """
        PYTHON - <<'PY'
import asyncio, os
from cosched import Client, TaskRequest
async def main():
    with Client(os.environ["COSCHED_SERVER"]) as client:
        task = client.submit(TaskRequest(command=("/bin/true",)))
        assert client.wait([task.id], timeout=240)[0].state == "completed"
asyncio.run(main())
PY""",
    "four hosts for half an hour": """
        cosched task submit --hosts 4 --runtime 30m --dry-run -- /bin/true | has "30 min"
        cosched task submit --runtime 2:30m,4:16m --dry-run -- /bin/true | has "16 min" """,
    "run my script": """
        printf '#!/bin/sh\\necho from a script with $1\\n' > job; chmod +x job
        id=$(submit -- ./job words)
        cosched task wait $id; cosched task out $id | has "from a script with words" """,
    "submit files and batch scripts are for their own managers": """
        printf '#!/bin/sh\\n#SBATCH --nodes=2\\ntrue\\n' > job.sh
        refused task submit --file job.sh""",
    "tell me of its end": """
        refused task submit --notify https://nowhere.example/hook -- /bin/true
        cosched task submit --help | has notify""",
    "many tasks of a file": """
        printf '%s\\n' alpha beta "gamma delta" > words
        cosched task submit --from words --name lines -- /bin/echo | has "lines.2"
        cosched task wait --name 'lines*' --state queued --state running --state dispatching || true
        cosched task list --name 'lines*' | has "lines.0" """,
    "a sweep of a table": """
        printf 'first,second\\n1,2\\n3,4\\n' > table.csv
        ids=$(submit --from table.csv --name sweep -- /bin/echo)
        cosched task wait $ids; cosched task out ${ids##*$'\\n'} | has "3 4" """,
    "one after the other": """
        first=$(submit --runtime 1s -- /bin/sleep 0.2)
        second=$(submit --runtime 1s --after $first -- /bin/true)
        cosched task wait $first $second
        cosched task show $second | has "after: +$first" """,
    "an array": """
        ids=$(submit --count 3 -- /bin/sh -c 'echo index $TASK_INDEX')
        array=${ids%%[^0-9]*}
        cosched task wait $ids; cosched task out ${array}_2 | has "index 2"
        cosched task list --array $array --json > listed; test $(grep -c array_index listed) -eq 3
        submit --count 3 --begin now+1h --runtime 1m -- /bin/true > ids; array=$(head -1 ids)
        cosched task edit --array $array --priority 1
        id=$(submit --runtime 1m --after ${array}_2 -- /bin/true); cosched task show $id | has "after: +$((array + 2))$"
        cosched task plans ${array}_2
        cosched task cancel ${array}_1 | has "task $((array + 1)) is cancelled"
        cosched task cancel --array $array | has "task $((array + 2)) is cancelled"
        alone='touch $TASK_INDEX; ls [1-3]; sleep 0.3; rm $TASK_INDEX'
        ids=$(submit --array 1-3%1 --runtime 1s -- /bin/sh -c "$alone")
        cosched task wait $ids; for id in $ids; do test $(cosched task out $id | wc -l) -eq 1; done """,
    "cancel many": """
        submit --count 5 --begin now+1h --name crowd --runtime 1m -- /bin/true
        cosched task cancel --name 'crowd*' | has cancelled
        cosched task list --name 'crowd*' --state queued --json | has '"total": 0|\\[\\]'""",
    "another deadline, run time and number of hosts": """
        id=$(submit --begin now+1h --runtime 1m --deadline now+9h -- /bin/true)
        cosched task edit $id --deadline now+8h --runtime 2:5m --name edited
        cosched task show $id | has "prediction: +5 min on 2 hosts"
        cosched task cancel $id
        refused task edit $id --name late""",
    "hold and release": """
        id=$(submit --begin now+1h --runtime 1m -- /bin/true)
        cosched task hold $id; cosched task explain $id | has "holds it"
        cosched task release $id; cosched task cancel $id""",
    "the urgent one of mine first": """
        id=$(submit --begin now+1h --runtime 1m --priority 5 -- /bin/true)
        cosched task show $id | has "priority: +5"
        cosched task edit $id --priority -5; cosched task show $id | has "priority: +-5"
        cosched task cancel $id""",
    "whose are the tasks, and who uses the hosts?": """
        id=$(submit -- /bin/true); cosched task wait $id
        cosched task list --limit 1 | has OWNER; cosched task list --user $(id -un) | has " $(id -un) "
        cosched domain usage --since 1d | has "$(id -un)" """,
    "read from a file": """
        echo hello > input
        id=$(submit --stdin input -- /bin/cat); cosched task wait $id; cosched task out $id | has hello""",
    "memory and cores on each host": """
        id=$(submit --memory 64M --cores 1 --runtime 1s -- /bin/true); cosched task wait $id
        cosched task show $id | has "needs: +64M of memory, 1 core on each host"
        refused task submit --memory 4000T -- /bin/true
        cosched host list | has "^HOST .*MEMORY +CORES"
        id=$(submit --begin now+1h --runtime 1m -- /bin/true)
        cosched task edit $id --memory 32M --cores 1 --retries 2 --no-requeue --time-limit 5m
        cosched task show $id | has "needs: +32M of memory, 1 core on each host"
        cosched task show $id | has "lost host: +not run again"
        refused task edit $id --memory 4000T
        cosched task cancel $id
        refused task submit --gpus 1 -- /bin/true""",
    "again if it fails": """
        id=$(submit --retries 2 -- /bin/sh -c 'echo x >> tries; test $(wc -l < tries) -eq 2'); cosched task wait $id
        cosched task show $id | has "failures: +1, of 3 tries at most"
        test $(wc -l < tries) -eq 2
        id=$(submit --retries 1 -- /bin/sh -c 'exit 3'); ! cosched task wait $id
        cosched task show $id | has "exit code 3 .try 2, the last" """,
    "a parallel program on two hosts": """
        id=$(submit --hosts 2 --mpi openmpi MPI)
        cosched task wait $id || cosched task err $id
        cosched task out $id | has "[0-9]" """,
    "the shell completes what I type": """
        COMP_WORDS="cosched task ca" COMP_CWORD=2 _COSCHED_COMPLETE=complete_bash PYTHON -m cosched.cli.main > offered
        has cancel < offered""",
    "by friday": """
        for when in "friday 17:00" "tomorrow 9am" 5pm; do
            cosched task submit --runtime 1s --deadline "$when" --dry-run -- /bin/true | has deadline
        done""",
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("command")
    quick_command(folder)
    with QuickSite("local", scale=0.05, hosts=4) as site:
        own = {"COSCHED_SERVER": site.server, "PATH": f"{folder}:{os.environ['PATH']}", "COLUMNS": "200"}
        yield {**os.environ, **own}


@pytest.mark.parametrize("wish", WISHES)
def test_a_wish_is_fulfilled(wish: str, environment: dict[str, str], tmp_path: Path) -> None:
    script = _PRELUDE + WISHES[wish].replace("PYTHON", shlex.quote(sys.executable))
    if "MPI" in script:
        needs = mpi.environment("openmpi", tmp_path)
        variables = [f"--env {name}={shlex.quote(value)}" for name, value in needs.items()]
        command = shlex.join(mpi.program("openmpi", tmp_path))
        script = script.replace("MPI", " ".join([*variables, "--", command]))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
