from __future__ import annotations

import json
import threading
import time
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import islice
from typing import TYPE_CHECKING

import pytest

import cosched
from cosched.elastic_lead import Lead, LeadOffer, LeadOrder, LeadOverhead, LeadStage, _connection
from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OFFER = {
    "task": "1",
    "revision": 3,
    "workers": [
        {"worker": 1, "host": "h2", "order": "stay", "by": None, "reason": ""},
        {"worker": 2, "host": "h3", "order": "leave", "by": 9.0, "reason": "task 2 starts on h3", "later": "field"},
    ],
}
READ = LeadOffer(3, (LeadOrder(1, "h2", "stay"), LeadOrder(2, "h3", "leave", 9.0, "task 2 starts on h3")))


@pytest.fixture
def box(tmp_path: Path) -> Path:
    (tmp_path / "answers").mkdir()
    return tmp_path


def said(box: Path) -> list[object]:
    return [json.loads(file.read_text()) for file in sorted((box / "answers").iterdir())]


def test_it_is_what_cosched_offers() -> None:
    assert cosched.Lead is Lead
    assert cosched.LeadOverhead is LeadOverhead


def test_a_process_without_a_mailbox_is_no_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COSCHED_MAILBOX", raising=False)
    with pytest.raises(UserError, match="--elastic workers or restart makes one"):
        Lead()


def test_an_offer_is_read_once_it_is_there(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSCHED_MAILBOX", str(box))
    lead = Lead()
    assert lead.offer() is None
    (box / "offer.json").write_text(json.dumps(OFFER))
    assert lead.offer() == READ
    assert lead.offer(after=3) is None
    assert [each.worker for each in READ.leaving] == [2]
    assert [each.host for each in READ.staying] == ["h2"]


def test_an_offer_tells_the_clusters_of_its_hosts_where_they_are_known(box: Path) -> None:
    near = [{"worker": 1, "host": "h2", "order": "stay", "cluster": "delft"}]
    (box / "offer.json").write_text(json.dumps(OFFER | {"workers": near, "cluster": "leiden"}))
    offer = Lead(str(box)).offer()
    assert offer is not None
    assert (offer.cluster, offer.workers[0].cluster) == ("leiden", "delft")
    assert (READ.cluster, READ.workers[0].cluster) == ("", "")


def test_each_later_offer_comes_once(box: Path) -> None:
    (box / "offer.json").write_text(json.dumps(OFFER))

    def later() -> None:
        (box / "next").write_text(json.dumps(OFFER | {"revision": 5}))
        (box / "next").rename(box / "offer.json")

    threading.Timer(0.3, later).start()
    assert [offer.revision for offer in islice(Lead(str(box)).offers(), 2)] == [3, 5]


def test_what_it_says_is_put_down_whole_and_in_order(box: Path) -> None:
    lead = Lead(str(box))
    lead.announce("here:1")
    lead.drained(2, 3)
    lead.refuse(4, "busy")
    lead.progress(1, 4)
    lead.progress(2, 4)  # so soon that it is not sent
    lead.progress(4, 4)
    lead.wish(6)
    lead.wish(None)
    lead.resize(2, 6)
    lead.resize()
    lead.speeds({0: 2.5, 3: 1.0})
    lead.overheads({0: LeadOverhead(idle=0.5), 3: LeadOverhead(inter=0.25)})
    assert all(file.suffix == ".json" for file in (box / "answers").iterdir())
    assert said(box) == [
        {"address": "here:1", "drains": True},
        {"drained": [2, 3]},
        {"refused": {"4": "busy"}},
        {"done": 1, "total": 4},
        {"done": 4, "total": 4},
        {"most": 6},
        {"most": -1},
        {"resize": {"least": 2, "most": 6}},
        {"resize": {"least": 1, "most": None}},
        {"speeds": {"0": 2.5, "3": 1.0}},
        {
            "overheads": {
                "0": {"idle": 0.5, "intra": 0.0, "inter": 0.0},
                "3": {"idle": 0.0, "intra": 0.0, "inter": 0.25},
            }
        },
    ]


class Answers(BaseHTTPRequestHandler):
    """Answers as the daemon does."""

    asked: list[tuple[str, str, str]] = []  # noqa: RUF012  one for each test

    def do_GET(self) -> None:
        self._answer(json.dumps(OFFER).encode())

    def do_POST(self) -> None:
        self._answer(b"")

    def _answer(self, text: bytes) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        self.asked.append((self.path, str(self.headers["Authorization"]), body))
        code = 403 if "wrong" in str(self.headers["Authorization"]) else 200
        self.send_response(code)
        self.end_headers()
        self.wfile.write(text if code == 200 else b"no")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Answers.asked = []
    serving = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=serving.serve_forever)
    thread.start()
    yield f"127.0.0.1:{serving.server_port}"
    serving.shutdown()
    thread.join()
    serving.server_close()


def test_by_http_it_proves_itself_with_the_token_of_its_mailbox(
    server: str, box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COSCHED_TASK", "7")
    (box / "token").write_text("secret\n")
    lead = Lead(str(box), server)
    assert lead.offer() == READ
    assert lead.offer(after=3) is None
    lead.drained(2)
    until = time.monotonic() + 60
    while len(Answers.asked) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    assert Answers.asked == [
        ("/api/v1/tasks/7/offer?after=-1&wait=0", "Bearer secret", ""),
        ("/api/v1/tasks/7/offer?after=3&wait=20", "Bearer secret", ""),
        ("/api/v1/tasks/7/lead", "Bearer secret", '{"drained": [2]}'),
    ]


def test_what_is_told_waits_for_a_daemon_that_is_away(
    server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COSCHED_TASK", "7")
    monkeypatch.setattr("cosched.elastic_lead._TRY_AGAIN", 0.01)
    there, tried = _connection(server), list[int]()

    def connection(_server: str) -> HTTPConnection:
        tried.append(1)
        return there if len(tried) == 3 else HTTPConnection("127.0.0.1", 1)

    monkeypatch.setattr("cosched.elastic_lead._connection", connection)
    lead = Lead(server=server, token="wrong")
    lead.progress(1, 4)
    until = time.monotonic() + 60
    while "refused (403)" not in (said := capsys.readouterr().err) and time.monotonic() < until:
        time.sleep(0.01)
    assert "refused (403): no" in said  # it came, and was answered
    assert len(tried) == 3


def test_a_refusal_and_a_daemon_that_is_away_are_faults(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSCHED_TASK", "7")
    with pytest.raises(SystemFault, match="refused \\(403\\): no"):
        Lead(server=server, token="wrong").offer()
    with pytest.raises(SystemFault, match="does not answer at unix:/none"):
        Lead(server="unix:/none", token="t").offer()


def put_stage(box: Path, revision: int, task: str, order: str, **changes: object) -> None:
    stage = {"task": task, "order": order, "name": "sample", "turn": 1, "hosts": 2, "quality": 0.9, "parameters": {}}
    (box / "new").write_text(json.dumps({**OFFER, "revision": revision, "stage": {**stage, **changes}}))
    (box / "new").rename(box / "offer.json")


def test_stages_come_once_their_hosts_are_there_and_asking_for_the_next_ends_one(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COSCHED_MAILBOX", str(box))
    monkeypatch.setattr("cosched.elastic_lead._LOOK_AGAIN", 0.001)
    put_stage(box, 1, "1", "run", parameters={"granularity": 16.0})
    found = cosched.stages("here:1")
    first = next(found)
    assert (first.name, first.turn, first.hosts, first.quality) == ("sample", 1, 2, 0.9)
    assert first.parameters == {"granularity": 16.0}
    assert [each.worker for each in first.workers] == [1]
    assert said(box) == [{"address": "here:1", "drains": False}]
    put_stage(box, 2, "2", "run", name="examine")
    assert next(found).name == "examine"
    assert said(box)[1:] == [{"stage_done": "1"}]
    put_stage(box, 3, "2", "end")
    assert next(found, None) is None
    assert said(box)[2:] == [{"stage_done": "2"}]


def test_a_stage_that_waits_for_hosts_does_not_come_yet(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSCHED_MAILBOX", str(box))
    orders = [("1", "wait"), ("1", "run"), ("1", "wait"), ("2", "wait"), ("2", "run")]
    offers = [
        LeadOffer(number, (), stage=LeadStage("sample", 0, 1, {}, task=task, order=order))
        for number, (task, order) in enumerate(orders)
    ]
    lead = Lead()
    monkeypatch.setattr(lead, "offers", lambda: iter(offers))
    assert [stage.task for stage in lead.stages()] == ["1", "2"]


def test_a_lead_without_stages_is_told_so(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSCHED_MAILBOX", str(box))
    (box / "offer.json").write_text(json.dumps(OFFER))
    with pytest.raises(UserError, match="this task has no stages"):
        next(cosched.stages())


def test_a_program_that_runs_one_stage_gets_that_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COSCHED_MAILBOX", raising=False)
    with pytest.raises(UserError, match="of no tunable application"):
        next(cosched.stages())
    for name, value in {
        "STAGE": "examine",
        "TURN": "3",
        "HOST_COUNT": "2",
        "PARAMETER_granularity": "16",
        "PARAMETER_file": "a.png",
    }.items():
        monkeypatch.setenv(f"COSCHED_{name}", value)
    (stage,) = cosched.stages()
    assert (stage.name, stage.turn, stage.hosts) == ("examine", 3, 2)
    assert stage.parameters == {"granularity": 16.0, "file": "a.png"}
