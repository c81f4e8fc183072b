"""Bad inputs over real HTTP: each ends in one clear error, and nothing is accepted or let in.

Other ways in have tables of their own: letters in tests/agents/protocol/test_letter_xml.py, models in
tests/language, users' own files and managers' answers in tests/connectors, a configuration in tests/daemon/config.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

from cosched.access import Role, Scope
from cosched.access.authentication import COOKIE
from cosched.access.principals import RoleSource
from cosched.access.sessions import Login
from cosched.access.tokens import TokenGrant
from cosched.portal.application import build_application
from tests.daemon.makers import Daemon, access_to, daemon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.access.authentication import Authenticator

pytestmark = pytest.mark.xdist_group("bad-inputs")  # its tests share one daemon
TRUE = {"command": ["/bin/true"]}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with daemon(tmp_path_factory.mktemp("bad")) as running:
        yield running


@pytest.fixture(scope="module")
def access(here: Daemon) -> Authenticator:
    return access_to(here.store)


@pytest.fixture(scope="module")
def client(here: Daemon, access: Authenticator) -> TestClient:
    """Somebody on this machine who has shown nothing yet."""
    app = build_application(here.services, access, frozenset({"localhost"}))
    return TestClient(app, base_url="http://localhost", client=("127.0.0.1", 1), follow_redirects=False)


def token(
    access: Authenticator, user: str = "ann", scopes: tuple[str, ...] = ("read", "submit"), life: float = 1e5
) -> str:
    now = time.time()
    return access.tokens.create(TokenGrant(user, Role.USER, set(map(Scope, scopes))), now, now + life)[0]


def shown(text: str, **headers: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}", "Content-Type": "application/json"} | headers


def refused(client: TestClient, access: Authenticator, body: Any, status: int = 422) -> str:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.post("/api/v1/tasks", content=content, headers=shown(token(access)))
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "application/problem+json")
    assert client.get("/api/v1/tasks", headers=shown(token(access))).json()["total"] == 0
    detail = answer.json()["detail"]
    assert "\n" not in detail
    return str(detail)


def _profile(seconds: str) -> bytes:
    return b'{"command": ["/bin/true"], "profile": [' + seconds.encode() + b"]}"


def _due(deadline: Any) -> dict[str, Any]:
    return TRUE | {"deadline": deadline, "profile": [10.0]}


HALVING = {"application": "halving"}
NAME = "the task name contains"
PROGRAM = "give the program's absolute path"
RANGE = "give a number from 1, or a range such as 2-8"
NOT_JSON = "the body is not JSON"
TASK_WANTED = "send one task as a JSON object, or several as a list"
TIMES = "it must be at least 1e-09 and at most 315360000"

# What is sent as a task, the status of the answer, and what its one line says.
BAD_TASKS: list[tuple[Any, int, str]] = [
    # Names, arguments and programs that could mean more to a shell, a resource manager or a page.
    (TRUE | {"name": "x\n#SBATCH --uid=0"}, 422, rf"{NAME} '\n'"),
    (TRUE | {"name": "x\u202egnp.exe"}, 422, rf"{NAME} '\u202e'"),
    (TRUE | {"name": "a\0b"}, 422, rf"{NAME} '\x00'"),
    (TRUE | {"name": "$ENV(PATH)"}, 422, f"{NAME} '$'"),
    (TRUE | {"name": "$$(Memory)"}, 422, f"{NAME} '$'"),
    (TRUE | {"name": "$(touch /tmp/x)"}, 422, f"{NAME} '$'"),
    (TRUE | {"name": "`id`"}, 422, f"{NAME} '`'"),
    (TRUE | {"name": '"; rm -rf ~ #'}, 422, f"{NAME} '\"'"),
    (TRUE | {"name": "x" * 201}, 422, "the task name has 201 characters"),
    (TRUE | {"directory": "/a\n/b"}, 422, r"the directory contains '\n'"),
    (TRUE | {"directory": "tmp"}, 422, "not an absolute path"),
    ({"command": ["-h"]}, 422, PROGRAM),
    ({"command": ["../../etc/passwd"]}, 422, PROGRAM),
    ({"command": ["true"]}, 422, PROGRAM),
    ({"command": ["/bin/"]}, 422, PROGRAM),
    ({"command": [""]}, 422, PROGRAM),
    ({"command": ["/bin/true", "a\0b"]}, 422, "contains a zero byte"),
    ({"command": ["/bin/true", "x" * 200_000]}, 422, "more than 131072 bytes: put it into a file"),
    ({"command": ["/bin/true", *["x" * 100_000] * 11]}, 422, "1100017 bytes of text: at most 1048576 are allowed"),
    ({"command": []}, 422, "give an application of the catalogue, or a command"),
    ({"command": "ls -l"}, 422, "command is 'ls -l': it must be a valid list"),
    ({"command": [1]}, 422, "command.0 is '1': it must be a valid string"),
    ({"command": None}, 422, "command is 'None': it must be a valid list"),
    (TRUE | {"prepare": "x"}, 422, "prepare is 'x': it must be a valid list"),
    (TRUE | {"environment": {"A B": "1"}}, 422, "'A B' cannot name an environment variable"),
    (TRUE | {"environment": {"": "1"}}, 422, "'' cannot name an environment variable"),
    (TRUE | {"environment": {"COSCHED_OBSERVED": "x"}}, 422, "value of COSCHED_OBSERVED 'x' is not an absolute path"),
    (TRUE | {"environment": {"COSCHED_RANK": "1"}}, 422, "COSCHED_RANK is set by cosched itself"),
    (TRUE | {"environment": {"A": "\0"}}, 422, "A has a zero byte"),
    (TRUE | {"environment": {"A": 1}}, 422, "environment.A is '1': it must be a valid string"),
    # Deadlines and limits of time.
    (_due(1.0), 422, "is past, it is"),
    (_due(-1), 422, "is past, it is"),
    (_due("2001-01-01T00:00Z"), 422, "is past, it is"),
    (_due("2030-01-31T18:00"), 422, "has no zone: write 2030-01-31T18:00"),
    (_due("9999-12-31T23:59"), 422, "has no zone"),
    (_due("9999-12-31T23:59Z"), 422, "more than ten years away"),
    (_due("2027-03-28T02:30[Europe/Berlin]"), 422, "is not a time"),
    (_due("soon"), 422, "the deadline 'soon' is not a time"),
    (_due("now"), 422, "the deadline 'now' is not a time"),
    (_due("now-1h"), 422, "the deadline 'now-1h' is past: give a later one, such as now+2h30m"),
    (_due(1e300), 422, "the deadline is more than ten years away"),
    (_due(True), 422, "deadline is 'True': it must be a valid number"),
    (_due([]), 422, "deadline is '[]': it must be a valid number"),
    (b'{"deadline": NaN}', 422, "deadline is 'nan': it must be a finite number"),
    (b'{"deadline": 1e400}', 422, "deadline is 'inf': it must be"),
    (TRUE | {"time_limit": 0}, 422, "the time limit is 0"),
    (TRUE | {"time_limit": -5}, 422, "-5.0 is not a duration"),
    (TRUE | {"time_limit": "soon"}, 422, "'soon' is not a duration"),
    # Numbers of hosts.
    (TRUE | {"hosts": 0}, 422, RANGE),
    (TRUE | {"hosts": -1}, 422, RANGE),
    (TRUE | {"hosts": "5-1"}, 422, RANGE),
    (TRUE | {"hosts": "1-4294967295"}, 422, RANGE),
    (TRUE | {"hosts": "1-4294967295000"}, 422, RANGE),
    (TRUE | {"hosts": "1-10%0"}, 422, RANGE),
    (TRUE | {"hosts": "1-"}, 422, RANGE),
    (TRUE | {"hosts": "x"}, 422, RANGE),
    (TRUE | {"hosts": "0x4"}, 422, RANGE),
    (TRUE | {"hosts": 17}, 422, "hosts is 17, and this domain can use 1 to 16 hosts"),
    (TRUE | {"hosts": 1.5}, 422, "hosts is '1.5': it must be a valid integer"),
    (TRUE | {"hosts": True}, 422, "hosts is 'True': it must be a valid integer"),
    (TRUE | {"hosts": [2]}, 422, "hosts is '[2]': it must be a valid"),
    (HALVING | {"hosts": 9}, 422, "hosts is 9, and halving can use 1 to 8 hosts"),
    # Predictions that are no times.
    (_profile("NaN"), 422, "profile.0 is 'nan': it must be a finite number"),
    (_profile("Infinity"), 422, "profile.0 is 'inf': it must be a finite number"),
    (_profile("-Infinity"), 422, "profile.0 is '-inf': it must be a finite number"),
    (_profile("1e400"), 422, "profile.0 is 'inf': it must be a finite number"),
    (_profile('1, "x"'), 422, "profile.1 is 'x': it must be a valid number"),
    (_profile("[1]"), 422, "profile.0 is '[1]': it must be a valid number"),
    (_profile("-1"), 422, f"the prediction for 1 host is -1.0 s: {TIMES}"),
    (_profile("0"), 422, f"the prediction for 1 host is 0.0 s: {TIMES}"),
    (_profile("-0.0"), 422, f"the prediction for 1 host is -0.0 s: {TIMES}"),
    (_profile("1e308"), 422, f"the prediction for 1 host is 1e+308 s: {TIMES}"),
    (_profile("1e-320"), 422, f"the prediction for 1 host is 1e-320 s: {TIMES}"),
    (_profile(""), 422, "the profile is empty"),
    (_profile("null"), 422, "the profile has no time for 1 to 16 hosts: give one in seconds"),
    (HALVING | {"profile": [None, None]}, 422, "no time for 1 to 8 hosts"),
    (
        HALVING | {"profile": [5.0], "hosts": 2},
        422,
        "no time for 2 hosts, only for 1 host: give one in seconds",
    ),
    # Applications, their parameters, and models of users' own.
    ({}, 422, "give an application of the catalogue, or a command"),
    (HALVING | TRUE, 422, "not both"),
    ({"application": "halvign"}, 422, "no application 'halvign' (did you mean halving?)"),
    ({"application": "../../etc/passwd"}, 422, "no application '../../etc/passwd'"),
    ({"application": "<script>"}, 422, "no application '<script>'"),
    ({"application": "broken"}, 422, "models/broken.psl:3:7: 'Nprok' is not declared"),
    (HALVING | {"parameters": {"work": 0}}, 422, "work is 0.0: give a value from 1"),
    (HALVING | {"parameters": {"work": "{{7*7}}"}}, 422, "work is '{{7*7}}': give a number from 1"),
    (HALVING | {"parameters": {"work": None}}, 422, "parameters.work is 'None': it must be a valid number"),
    (HALVING | {"parameters": {"wrok": 1}}, 422, "no parameter 'wrok' (did you mean work?)"),
    (TRUE | {"parameters": {"a": 1}}, 422, "parameters belong to applications"),
    (TRUE | {"model": "proc exec init {"}, 422, "your model:1:1: a model is wanted"),
    # Other tasks, receivers of notices, owners and managers.
    (TRUE | {"after": ["7"]}, 422, "there is no task '7' to come after"),
    (TRUE | {"after": ["x"]}, 422, "there is no task 'x' to come after"),
    (TRUE | {"after": "7"}, 422, "after is '7': it must be a valid list"),
    (TRUE | {"notify": ["http://169.254.169.254/"]}, 422, "cannot be notified: the administrator has allowed none"),
    (TRUE | {"notify": "x"}, 422, "notify is 'x': it must be a valid list"),
    (TRUE | {"owner": "root"}, 422, "unknown key 'owner': a task has application, command"),
    (TRUE | {"native": {"manager": "slurm"}}, 422, "this domain's resource manager is 'local'"),
    (TRUE | {"best_effort": "perhaps"}, 422, "best_effort is 'perhaps': it must be true or false"),
    (TRUE | {"best_effort": "true"}, 422, "best_effort is 'true': it must be true or false"),
    (TRUE | {"best_effort": 1}, 422, "best_effort is '1': it must be true or false"),
    # What is no JSON, or no task.
    (b"", 400, NOT_JSON),
    (b"{", 400, NOT_JSON),
    (b"{\0}", 400, NOT_JSON),
    (b"\xff\xfe", 400, NOT_JSON),
    (b"\xef\xbb\xbf{}", 400, NOT_JSON),
    ('{"name": "x"}'.encode("utf-16"), 400, NOT_JSON),
    (b'{"name": "\\ud800"}', 400, NOT_JSON),
    (b"[" * 100_000, 400, f"{NOT_JSON}: recursion limit"),
    (b"3", 422, TASK_WANTED),
    (b"null", 422, TASK_WANTED),
    (b"[]", 422, TASK_WANTED),
    (b"[3]", 422, "a task is a JSON object"),
    (b"[{}, 3]", 422, "task 2 of the list: a task is a JSON object"),
    (b'[{}, {"hots": 3}]', 422, "task 2 of the list: unknown key 'hots': a task has application, command"),
]


@pytest.mark.parametrize(("body", "status", "said"), BAD_TASKS, ids=map(str, range(len(BAD_TASKS))))
def test_a_bad_task_is_refused_in_one_clear_line(
    client: TestClient, access: Authenticator, body: Any, status: int, said: str
) -> None:
    assert said in refused(client, access, body, status)


NO_TASK = "`cosched task list` shows what there is"
TASKS = "/api/v1/tasks"

# Other requests of a user with the scopes read and submit: method, address, status, and what the answer says.
BAD_REQUESTS = [
    ("GET", f"{TASKS}?limit=0", 422, "limit is '0': it must be greater than or equal to 1"),
    ("GET", f"{TASKS}?limit=1e9", 422, "limit is '1e9': it must be a valid integer"),
    ("GET", f"{TASKS}?limit=9999999999999999999999", 422, "it must be less than or equal to 1000"),
    ("GET", f"{TASKS}?limit=%00", 422, "it must be a valid integer"),
    ("GET", f"{TASKS}?offset=-1", 422, "offset is '-1': it must be greater than or equal to 0"),
    ("GET", f"{TASKS}?state=done", 422, "state is 'done': it must be 'queued'"),
    ("GET", f"{TASKS}/0", 404, NO_TASK),
    ("GET", f"{TASKS}/-1", 404, NO_TASK),
    ("GET", f"{TASKS}/1e3", 404, NO_TASK),
    ("GET", f"{TASKS}/99999999999999999999", 404, NO_TASK),
    ("GET", f"{TASKS}/%00", 404, NO_TASK),
    ("GET", f"{TASKS}/7*7", 404, NO_TASK),
    ("GET", f"{TASKS}/%F0%9F%92%A3", 404, NO_TASK),
    ("GET", f"{TASKS}/1;drop", 404, NO_TASK),
    ("GET", f"{TASKS}/'%20or%201=1", 404, NO_TASK),
    ("GET", f"{TASKS}/7/explain", 404, NO_TASK),
    ("GET", f"{TASKS}/7/plans", 404, NO_TASK),
    ("GET", f"{TASKS}/7/output/out", 404, NO_TASK),
    ("GET", f"{TASKS}/7/output/etc", 422, "stream is 'etc': it must be 'out' or 'err'"),
    ("GET", f"{TASKS}/7/output/out?rank=-1", 422, "rank is '-1': it must be greater than or equal to 0"),
    ("GET", f"{TASKS}/7/output/..%2f..%2fpasswd", 404, "there is no /api/v1/tasks/7/output/../../passwd"),
    ("GET", f"{TASKS}/..%2f..%2fetc%2fpasswd", 404, "there is no /api/v1/tasks/../../etc/passwd"),
    ("GET", f"{TASKS}/7/cancel", 405, "GET cannot be used on /api/v1/tasks/7/cancel"),
    ("GET", "/api/v1/nothing", 404, "there is no /api/v1/nothing"),
    ("GET", "/api/v1/models/x/jacobi", 404, "there is no model 'jacobi' among the x"),
    ("GET", "/api/v1/models/applications/nosuch", 404, "there is no model 'nosuch' among the applications"),
    ("GET", "/api/v1/models/applications/nosuch/curves", 404, "there is no model 'nosuch' among the applications"),
    ("GET", "/api/v1/models/applications/halving/curves?hosts=0", 422, "hosts is '0'"),
    ("GET", "/api/v1/models/applications/..%2f..%2fetc%2fpasswd", 404, "there is no /api/v1/models/applications/../"),
    ("GET", "/api/v1/models/hardware/..%2fx", 404, "there is no /api/v1/models/hardware/../x"),
    ("GET", "/api/v1/log?limit=-1", 422, "limit is '-1': it must be greater than or equal to 1"),
    ("GET", "/api/v1/log?limit=x", 422, "limit is 'x': it must be a valid integer"),
    ("GET", "/api/v1/runs?since=NaN", 422, "since is 'NaN'"),
    ("GET", "/api/v1/runs?since=soon", 422, "since is 'soon': it must be a valid number"),
    ("GET", "/api/v1/audit", 403, ""),
    ("GET", "/api/v1/accounts", 403, ""),
    ("POST", "/api/v1/tokens", 403, ""),
    ("POST", "/api/v1/accounts", 403, ""),
    ("PATCH", "/api/v1/accounts/root", 403, ""),
    ("DELETE", "/api/v1/accounts/root", 403, ""),
    ("DELETE", "/api/v1/tokens/x", 403, ""),
    ("POST", f"{TASKS}/7/cancel", 404, NO_TASK),
    ("PUT", TASKS, 405, "PUT cannot be used on /api/v1/tasks"),
    ("BREW", TASKS, 405, "BREW cannot be used on /api/v1/tasks"),
]


@pytest.mark.parametrize(("method", "address", "status", "said"), BAD_REQUESTS)
def test_a_bad_request_is_answered_in_one_clear_line(
    client: TestClient, access: Authenticator, method: str, address: str, status: int, said: str
) -> None:
    answer = client.request(method, address, json={}, headers=shown(token(access)))
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "application/problem+json")
    detail = answer.json()["detail"]
    assert said in detail
    assert "\n" not in detail


def test_a_deadline_shorter_than_the_shortest_prediction(client: TestClient, access: Authenticator) -> None:
    body = {"command": ["/bin/true"], "profile": [500.0, 300.0], "deadline": time.time() + 100}
    assert "the earliest deadline that can be met is" in refused(client, access, body)


def test_one_key_twice_at_once_and_with_another_body(client: TestClient, access: Authenticator) -> None:
    headers = shown(token(access, "key-user"), **{"Idempotency-Key": "k"})
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: client.post("/api/v1/tasks", json=TRUE, headers=headers), range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    other = client.post("/api/v1/tasks", json=TRUE | {"name": "other"}, headers=headers)
    assert other.status_code == 409
    assert client.get("/api/v1/tasks", headers=headers).json()["total"] == 1


def test_who_shows_nothing_or_something_false_is_not_let_in(client: TestClient, access: Authenticator) -> None:
    expired = token(access, life=-1.0)
    forged: list[dict[str, str]] = [
        {},
        {"REMOTE_USER": "root"},
        {"X-Remote-User": "root"},
        {"X-Forwarded-User": "root", "X-Forwarded-For": "::1"},
        {"Authorization": f"Bearer {expired}"},
        {"Authorization": "Bearer cosched_aaaaaaaa_b"},
        {"Authorization": "Basic cm9vdDp4"},
        {"Cookie": f"{COOKIE}=forged"},
    ]
    for headers in forged:
        answer = client.get("/api/v1/tasks", headers=headers)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="cosched"')


def test_a_token_of_another_scope_and_a_task_of_another_user(client: TestClient, access: Authenticator) -> None:
    mine = client.post("/api/v1/tasks", json=TRUE, headers=shown(token(access, "owner"))).json()["id"]
    assert client.post("/api/v1/tasks", json=TRUE, headers=shown(token(access, "x", ("read",)))).status_code == 403
    assert client.get("/api/v1/tasks", headers=shown(token(access, "x", ("submit",)))).status_code == 403
    stranger = shown(token(access, "stranger"))
    for answer in (
        client.get(f"/api/v1/tasks/{mine}", headers=stranger),
        client.get(f"/api/v1/tasks/{mine}/explain", headers=stranger),
        client.get(f"/api/v1/tasks/{mine}/output/out", headers=stranger),
        client.post(f"/api/v1/tasks/{mine}/cancel", json={}, headers=stranger),
    ):
        assert (answer.status_code, answer.json()["detail"].startswith(f"there is no task '{mine}'")) == (404, True)


def test_a_browser_without_the_token_of_the_page_changes_nothing(client: TestClient, access: Authenticator) -> None:
    cookie = access.sessions.begin(Login("browser", Role.USER, RoleSource.GRANTED), time.time())[0]
    answer = client.post("/api/v1/tasks", json=TRUE, headers={"Cookie": f"{COOKIE}={cookie}"})
    assert (answer.status_code, "no CSRF token" in answer.json()["detail"]) == (403, True)
    assert client.get("/api/v1/tasks", headers={"Cookie": f"{COOKIE}={cookie}"}).json()["total"] == 0
