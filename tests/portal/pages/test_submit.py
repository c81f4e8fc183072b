from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from cosched.access.principals import Role, Scope
from cosched.access.tokens import TokenGrant
from cosched.api.documents import FreeView
from cosched.coscheduler.elastic.values import Elastic
from tests.documents import host
from tests.portal.makers import Portal, portal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PSL = "application mine {\n  var numeric: work = 60;\n  proc exec init { step cpu { confdev work / Nproc; } }\n}\n"
BATCH = "#!/bin/sh\n#SBATCH --nodes=2\n#COSCHED --profile=9,8,7 --name=mine\necho\n"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Portal]:
    with portal(tmp_path) as made:
        yield made


def verdict(text: str) -> str:
    found = re.search(r'class="verdict ?(\w*)"', text)
    assert found is not None, text
    return found[1]


def test_a_form_carries_a_token_with_which_it_may_be_sent(here: Portal) -> None:
    ann = here.person("ann")
    found = re.search(r'name="csrf_token" value="([^"]+)"', ann.see("/submit?application=halving"))
    assert found is not None
    answer = ann.client.post("/submit", data={"application": "halving", "csrf_token": found[1]})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/tasks/1")


def test_a_form_makes_a_task_of_whoever_sends_it(here: Portal) -> None:
    ann = here.person("ann")
    assert ann.submit(**{"p.work": "40", "name": "mine", "deadline": "2030-01-31T18:00"}) == "/tasks/1"
    task = here.daemon.store.task("1")
    assert task is not None
    assert (task.owner, task.spec.name, dict(task.spec.parameters)) == ("ann", "mine", {"work": 40.0})


def test_a_form_without_the_token_of_a_page_is_refused(here: Portal) -> None:
    """Bad inputs 19: no CSRF token."""
    ann = here.person("ann")
    for token in ("", "x"):
        answer = ann.client.post("/submit", data={"application": "halving", "csrf_token": token})
        assert (answer.status_code, "no CSRF token" in answer.text) == (403, True)
    for path in ("/submit/sample", "/submit/preview", "/tasks/1/cancel", "/tasks/1/again"):
        assert ann.client.post(path, data={"x": ""}).status_code == 403
    assert here.daemon.store.last_number() == 0


def test_a_form_that_is_sent_twice_is_one_task(here: Portal) -> None:
    ann = here.person("ann")
    assert {ann.submit(key="the form's own key") for _ in range(2)} == {"/tasks/1"}


def test_a_refusal_keeps_what_was_typed_and_says_what_would_do(here: Portal) -> None:
    typed = {"application": "halving", "p.work": "0.5", "name": "typed <b>"}
    page = here.person("ann").refused("/submit", **typed)
    assert "give a value from 1 up to 1000000" in page
    assert 'value="typed &lt;b&gt;"' in page


def test_a_preview_says_what_would_come_of_it_and_stores_nothing(here: Portal) -> None:
    ann = here.person("ann")

    def ask(**fields: str) -> str:
        return str(ann.send("/submit/preview", **{"application": "halving", **fields}).text)

    assert verdict(ask()) == ""
    assert verdict(ask(deadline="2030-01-31T18:00")) == "good"
    assert "No other task has to wait" in ask()
    assert "As things stand. Better plans may bring it forward;" in ask()
    assert "As things stand." not in ask(application="plain")
    assert verdict(ask(**{"p.work": "1e6", "deadline": "2001-01-01T00:00"})) == "bad"
    assert verdict(ask(application="plain")) == ""
    assert verdict(ask(application="broken")) == "bad"
    assert here.daemon.store.last_number() == 0


def test_a_preview_tells_what_it_does_to_others(here: Portal) -> None:
    ann = here.person("ann")
    ann.submit(**{"p.work": "1e6", "hosts": "8"})
    soon = here.daemon.clock.now() + 60
    text = ann.send("/submit/preview", **{"application": "halving", "p.work": "80", "deadline": iso(soon)}).text
    assert verdict(text) == "good"
    assert "<b>1</b> waiting task ends later" in text


def test_a_preview_of_an_elastic_task_says_both_ends_for_each_number_of_promised_hosts(here: Portal) -> None:
    sent = {"own": "command", "command": "/bin/true", "worker": "/bin/true", "profile": "80, 40, , 20"}
    page = here.person("ann").send("/submit/preview", **sent).text
    for words in ("Promised hosts", "Promised end", "Expected end"):
        assert f'<th scope="col">{words}</th>' in page
    assert re.findall(r'<th scope="row">(\d+)</th>', page) == ["1", "2", "4"]
    assert page.count(">planned<") == 1
    assert "misses its deadline" not in page
    soon = iso(here.daemon.clock.now() + 30)
    assert "misses its deadline" in here.person("ann").send("/submit/preview", **sent, deadline=soon).text
    assert "Promised hosts" not in here.person("ann").send("/submit/preview", **{**sent, "worker": ""}).text


def test_a_program_that_checkpoints_is_submitted_and_comes_back_into_the_form(here: Portal) -> None:
    ann = here.person("ann")
    fields = {"own": "command", "command": "/bin/true", "profile": "80, 40", "restart": "on", "restart_cost": "3m"}
    assert ann.submit(application="", **fields, force_stop="on") == "/tasks/1"
    task = here.daemon.store.task("1")
    assert task is not None
    assert task.spec.elastic == Elastic(restart=True, grace=30.0, cost=180.0, force=True)
    page = ann.see("/submit?like=1")
    assert '<input type="checkbox" id="restart" name="restart" checked' in page
    assert '<input type="checkbox" id="force_stop" name="force_stop" checked' in page
    preview = ann.send("/submit/preview", **fields).text
    assert re.findall(r'<th scope="row">(\d+)</th>', preview) == ["1", "2"]
    assert "Expected end" not in preview, "it is lent no hosts"
    assert "has no workers" in ann.refused("/submit", **fields, worker="/bin/true")


def test_a_sample_is_submitted_with_a_deadline(here: Portal) -> None:
    assert here.person("ann").send("/submit/sample").headers["Location"] == "/tasks/1"
    task = here.daemon.store.task("1")
    assert task is not None
    assert task.spec.deadline is not None


def test_a_command_brings_a_model_of_its_own(here: Portal) -> None:
    ann = here.person("ann")
    fields = {"application": "", "own": "command", "command": "/bin/true", "model": "a model", "p.work": "40"}
    assert ann.submit(**fields) == "/tasks/1"
    task = here.daemon.store.task("1")
    assert task is not None
    assert task.profile is not None
    assert task.profile.seconds[:2] == (40.0, 20.0)
    assert "your model:1:1: a model is wanted" in ann.refused("/submit", **{**fields, "model": "no model"})


def test_only_pages_with_an_editor_load_it(here: Portal) -> None:
    ann = here.person("ann")
    for query in ("own=command", "model=jacobi_measured"):
        assert "/static/codemirror.js?" in ann.see(f"/submit?{query}")
    for path in ("/submit", "/submit?own=file", "/submit?application=halving", "/tasks", "/models"):
        page = ann.see(path)
        assert "codemirror.js" not in page
        assert "editor.js" not in page


def test_a_model_of_the_library_is_there_to_be_changed(here: Portal) -> None:
    ann = here.person("ann")
    assert 'href="/submit?model=jacobi_measured"' in ann.see("/models/applications/jacobi_measured")
    assert "application jacobi_measured {" in ann.see("/submit?model=jacobi_measured")
    assert ann.client.get("/submit?model=../jacobi_measured").status_code == 404
    token, _ = here.access.tokens.create(TokenGrant("ann", Role.USER, {Scope.SUBMIT}), 0.0, here.access.now() + 100)
    headers = {"Authorization": f"Bearer {token}"}
    assert here.person("nobody").client.get("/submit?model=jacobi_measured", headers=headers).status_code == 403


def test_a_preview_looks_at_a_model_before_there_is_a_command(here: Portal) -> None:
    ann = here.person("ann")
    fields = {"own": "command", "command": " ", "model": "a model", "p.work": "40"}
    page = ann.send("/submit/preview", **fields).text
    assert "Its program is still missing" in page
    assert "Run time by number of hosts" in page
    assert 'data-line="1"' in ann.send("/submit/preview", **{**fields, "model": "no model"}).text
    assert "still missing" not in ann.send("/submit/preview", **{**fields, "command": "/bin/true"}).text
    assert "Give an application" in ann.send("/submit/preview", own="command", command="", model="").text
    assert here.daemon.store.last_number() == 0


def test_a_file_is_read_without_trust_and_only_where_its_manager_runs(here: Portal) -> None:
    ann = here.person("ann")
    page = ann.refused("/submit", own="file", file=BATCH.replace("\n", "\r\n"), file_name="job.sh")
    assert "the file is written for &#39;slurm&#39;" in page
    assert "#COSCHED --profile=9,8,7" in page  # it is still there


def test_an_upload_counts_before_the_field_beside_it(here: Portal) -> None:
    ann = here.person("ann")
    csrf = re.search(r'name="csrf_token" value="([^"]+)"', ann.see("/submit?own=file"))
    assert csrf is not None
    answer = ann.client.post(
        "/submit",
        data={"csrf_token": csrf[1], "own": "file", "file": ""},
        files={"file_upload": ("x.txt", b"nothing that is known")},
    )
    assert "x.txt is neither a batch script" in ann.see(answer.headers["Location"])
    broken = ann.client.post(
        "/submit", data={"csrf_token": csrf[1], "own": "file"}, files={"file_upload": ("x.txt", b"\xff\xfe")}
    )
    assert (broken.status_code, "x.txt is not UTF-8 text" in broken.text) == (422, True)


def test_a_sweep_is_a_task_for_each_value(here: Portal) -> None:
    ann = here.person("ann")
    fields = {"application": "halving", "name": "night", "sweep": "work=10..30 step 10\r\n"}
    assert ann.send("/submit", **fields).headers["Location"] == "/tasks"
    tasks = [here.daemon.store.task(str(number)) for number in (1, 2, 3)]
    assert [task.spec.parameters["work"] for task in tasks if task is not None] == [10.0, 20.0, 30.0]
    assert [task.spec.name for task in tasks if task is not None] == [f"night work={work}" for work in (10, 20, 30)]
    assert "give one of them" in ann.refused("/submit", **fields, array="0-3")
    assert "the sweep" in ann.refused("/submit", **{**fields, "sweep": "work"})


def test_a_task_comes_after_those_that_its_form_names(here: Portal) -> None:
    ann = here.person("ann")
    ann.submit()
    ann.submit(after="1")
    task = here.daemon.store.task("2")
    assert task is not None
    assert task.spec.after == ("1",)
    assert "no task &#39;99&#39; to come after" in ann.refused("/submit", application="halving", after="99")


def test_only_ones_own_task_is_cloned(here: Portal) -> None:
    here.person("ann").submit(**{"p.work": "77"})
    assert 'value="77"' in here.person("ann").see("/submit?like=1")
    assert here.person("bob").client.get("/submit?like=1").status_code == 404
    assert 'value="77"' in here.person("olga", Role.OPERATOR).see("/submit?like=1")


def test_a_token_without_the_scope_read_clones_nothing(here: Portal) -> None:
    here.person("ann").submit(**{"p.work": "77"})
    token, _ = here.access.tokens.create(TokenGrant("ann", Role.USER, {Scope.SUBMIT}), 0.0, here.access.now() + 100)
    headers = {"Authorization": f"Bearer {token}"}
    client = here.person("nobody").client
    assert client.get("/submit?like=1", headers=headers).status_code == 403
    assert client.get("/submit", headers=headers).status_code == 200


def test_a_model_of_ones_own_comes_with_the_clone(here: Portal) -> None:
    ann = here.person("ann")
    ann.submit(application="", own="command", command="/bin/true", model="a model", settings="work=40")
    page = ann.see("/submit?like=1")
    assert ">a model</textarea>" in page
    assert ">work=40</textarea>" in page
    answer = ann.send("/tasks/1/again")
    assert answer.headers["Location"] == "/tasks/2"
    again = here.daemon.store.task("2")
    assert again is not None
    assert (again.spec.model, again.spec.parameters) == ("a model", {"work": "40"})


def test_another_users_job_is_not_taken(here: Portal) -> None:
    here.person("ann").submit(**{"p.work": "77"})
    assert "there is no task" in here.person("bob").refused("/submit", own="job", job_of="1", command="x")
    assert here.daemon.store.task("2") is None


def test_an_application_that_there_is_not_is_said_so(here: Portal) -> None:
    answer = here.person("ann").client.get("/submit?application=<b>")
    assert (answer.status_code, "&lt;b&gt;" in answer.text) == (422, True)


def iso(moment: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(moment, UTC).isoformat()


def test_a_form_is_kept_used_again_and_deleted(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann, bob = here.person("ann"), here.person("bob")
        now = here.access.now()
        deadline = datetime.fromtimestamp(now + 7200).strftime("%Y-%m-%dT%H:%M:%S")
        sent = {"application": "halving", "p.work": "60", "hosts": "2-4", "deadline": deadline, "name": "<night>"}
        kept = ann.send("/submit/templates", template=" my  <runs> ", key="k", **sent)
        assert kept.headers["Location"] == "/submit?template=my+%3Cruns%3E"
        assert "my &lt;runs&gt;" in ann.see("/submit")
        assert "my &lt;runs&gt;" not in bob.see("/submit")
        page = ann.see(kept.headers["Location"])
        assert all(text in page for text in ('value="60"', 'value="2-4"', "&lt;night&gt;"))
        set_to = re.search(r'name="deadline"[^>]* value="([^"]+)"', page)
        assert set_to is not None
        ahead = datetime.fromisoformat(set_to[1]).timestamp() - now
        assert ahead == pytest.approx(7200, abs=120)
        assert 'value="k"' not in page  # another submission
        for person, status in ((bob, 404), (ann, 303), (ann, 404)):
            assert person.send("/submit/templates/delete", template="my <runs>").status_code == status
        assert "my &lt;runs&gt;" not in ann.see("/submit")


TOO_MUCH = {"template": "x", "file": "y" * 600_000, "model": "z" * 600_000}


@pytest.mark.parametrize(
    ("sent", "why"), [({"template": " "}, "1 to 100 characters"), (TOO_MUCH, "at most 1048576 characters")]
)
def test_a_template_without_a_name_or_with_too_much_is_refused_with_what_was_typed(
    tmp_path: Path, sent: dict[str, str], why: str
) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        page = ann.refused("/submit/templates", application="halving", hosts="3-5", **sent)
        assert why in page
        assert 'value="3-5"' in page
        assert "Your templates" not in ann.see("/submit")


def test_places_in_a_model_of_ones_own_can_be_pressed(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        sent = {"own": "command", "command": "/bin/x", "model": "wrong", "settings": "work=4"}
        page = here.person("ann").send("/submit/preview", **sent).text
        place = 'data-line="1" data-column="1" data-fault="a model is wanted"'
        assert f'<button type="button" {place}>Line 1, column 1: a model is wanted</button>' in page


def test_where_tasks_share_hosts_what_they_take_of_them_is_asked_first(
    here: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stood under "More", among twenty fields: who did not look there got one core."""
    ann = here.person("ann")
    folded = ann.see("/submit?own=command")
    assert folded.index("<summary>More") < folded.index('id="cores"')
    node = replace(host("node01"), cores=64, free=FreeView(memory=0, cores=64, gpus=4))
    monkeypatch.setattr(here.daemon.services.domain, "hosts", lambda *_: [node])
    page = ann.see("/submit?own=command")
    assert page.index('id="gpus"') < page.index("<summary>More")
    assert page.count('id="cores"') == 1
    assert "Left out: one for each process." in page
    assert 'id="cores"' not in ann.see("/submit?own=file")
