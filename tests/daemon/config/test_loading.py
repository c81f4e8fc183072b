from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cosched import resources
from cosched.daemon.config.loading import load_configuration, read_configuration
from cosched.daemon.config.sections import Configuration, PlanningSection
from cosched.errors import UserError
from cosched.scheduling.policies import DOMAIN_POLICIES

HOME = {"HOME": "/home/ann"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cosched.toml"


def fault(file: Path, text: str, **environment: str) -> str:
    file.write_text(text)
    with pytest.raises(UserError) as caught:
        load_configuration(file, HOME | environment)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[domain]\nstate = "~nobody-here/state"', "domain.state"),
        ('[agent]\npeers = "~nobody-here"', "agent.peers"),
        ('[models]\nfolders = ["~nobody-here"]', "models.folders.0"),
        ('[server]\ncertificate = "~nobody-here/c"\nkey = "~nobody-here/k"', "server.certificate"),
    ],
)
def test_the_home_of_a_user_that_there_is_not_is_named_with_its_key(file: Path, text: str, key: str) -> None:
    assert fault(file, text).startswith(f"{file}: {key}: '~nobody-here")


@pytest.mark.parametrize("key", ["listen", "address"])
def test_a_port_that_there_is_not_is_refused_with_its_key(file: Path, key: str) -> None:
    assert fault(file, f'[agent]\n{key} = "h:65536"').startswith(f"{file}: agent.{key}: 'h:65536' has a port")


def test_a_mail_server_s_port_that_there_is_not_is_refused(file: Path) -> None:
    told = fault(file, '[notify]\nsmtp = "smtps://mail.example.org:65536"')
    assert "smtp has a port above 65535" in told


def test_without_a_file_the_state_is_the_users() -> None:
    configuration = load_configuration(environment=HOME)
    assert configuration.connector.kind == "local"
    assert configuration.database.url == "sqlite:////home/ann/.local/state/cosched/cosched.db"
    assert configuration.server.listen == ("unix:/home/ann/.local/state/cosched/cosched.sock", "127.0.0.1:0")


def test_every_key_has_a_default_and_stands_in_the_example_file() -> None:
    values = read_configuration(environment=HOME)[1]
    keys = {value.key for value in values if not value.key.startswith("connector.local.")}
    assert {value.origin for value in values} == {"default"}
    sections = {name: field.annotation for name, field in Configuration.model_fields.items()}
    assert keys == {
        f"{name}.{key}" for name, section in sections.items() for key in getattr(section, "model_fields", ())
    } - {
        "connector.local",
        "elastic.applications",
        "elastic.users",
        "planning.contention",
        "shares.groups",
        "shares.users",
    }
    text = (resources.etc() / "cosched.toml").read_text()
    for key in keys:
        section, name = key.split(".")
        part = text.split(f"[{section}]\n")[1].split("\n\n[")[0]
        assert re.search(rf"^# {name} = ", part, re.MULTILINE), key


def test_the_example_file_shows_the_defaults(file: Path) -> None:
    text = (resources.etc() / "cosched.toml").read_text()
    assert load_configuration(resources.etc() / "cosched.toml", HOME) == load_configuration(environment=HOME)
    # Keys only: prose that happens to hold an equals sign is longer than one word before it.
    shown = re.sub(r"^# (\w+ = |\[)", r"\1", text, flags=re.MULTILINE)
    file.write_text(shown)
    written, plain = load_configuration(file, HOME), load_configuration(environment=HOME)
    for section in ("objective", "planning", "dispatch"):
        assert getattr(written, section) == getattr(plain, section)


def test_later_layers_win_key_by_key(file: Path) -> None:
    file.write_text('[planning]\nseed = 1\nstaging = "2m"\nshare = 0.1\n[connector.local]\nhosts = 4\nspool = "x"\n')
    (file.parent / "config.d").mkdir()
    (file.parent / "config.d" / "20.toml").write_text("[planning]\nseed = 3\n")
    (file.parent / "config.d" / "10.toml").write_text("[planning]\nseed = 2\nshare = 0.2\n")
    environment = {"COSCHED_CONNECTOR__LOCAL__HOSTS": "8", "COSCHED_PLANNING__SHARE": "0.3", "COSCHED_TASK": "17"}
    configuration = load_configuration(file, HOME | environment)
    assert configuration.planning.seed == 3
    assert configuration.planning.staging == 120.0
    assert configuration.planning.share == 0.3
    assert configuration.connector.table == {"hosts": 8, "spool": "x"}
    origins = {setting.key: setting.origin for setting in read_configuration(file, HOME | environment)[1]}
    assert origins["planning.seed"] == str(file.parent / "config.d" / "20.toml")
    assert origins["planning.staging"] == origins["connector.local.spool"] == str(file)
    assert origins["planning.share"] == "environment COSCHED_PLANNING__SHARE"
    assert origins["connector.local.hosts"] == "environment COSCHED_CONNECTOR__LOCAL__HOSTS"
    assert origins["planning.policy"] == "default"


def test_state_moves_the_database_and_the_socket(file: Path) -> None:
    file.write_text('[domain]\nstate = "state"\n')
    configuration = load_configuration(file, HOME)
    assert configuration.database.url == f"sqlite:///{file.parent}/state/cosched.db"
    assert configuration.server.listen[0] == f"unix:{file.parent}/state/cosched.sock"


def test_state_from_the_environment_moves_the_database_too(file: Path) -> None:
    file.write_text('[domain]\nstate = "state"\n')
    configuration = load_configuration(file, HOME | {"COSCHED_DOMAIN__STATE": "/var/state"})
    assert configuration.database.url == "sqlite:////var/state/cosched.db"
    assert configuration.connector.table["spool"] == "/var/state/local"


def test_relative_paths_start_where_they_are_written(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text('[applications]\nfolders = ["applications.d", "/opt/catalogue"]\n[agent]\nkey = "agent.key"\n')
    (file.parent / "elsewhere").mkdir()
    monkeypatch.chdir(file.parent / "elsewhere")
    configuration = load_configuration(file, HOME | {"COSCHED_MODELS__FOLDERS": '["models"]'})
    assert configuration.applications.folders == [file.parent / "applications.d", Path("/opt/catalogue")]
    assert configuration.agent.key == file.parent / "agent.key"
    assert configuration.models.folders == [file.parent / "elsewhere" / "models", resources.models()]


@pytest.mark.parametrize(
    ("raw", "value"),
    [("7", 7), ("0.5", 0.5), ("true", True), ("2m", "2m"), ('["a"]', ["a"]), ("", ""), ("7\nx = 1", "7\nx = 1")],
)
def test_values_of_the_environment_are_toml_where_they_can_be(raw: str, value: object) -> None:
    configuration = load_configuration(environment=HOME | {"COSCHED_CONNECTOR__LOCAL__HOSTS": raw})
    assert configuration.connector.table["hosts"] == value


def test_text_from_the_environment_needs_no_quotes() -> None:
    configuration = load_configuration(
        environment=HOME | {"COSCHED_DOMAIN__NAME": "7", "COSCHED_MODELS__FOLDERS": '["/a", "/b"]'}
    )
    assert configuration.domain.name == "7"
    assert configuration.models.folders == [Path("/a"), Path("/b"), resources.models()]


def test_a_table_and_a_value_of_one_name_are_refused(file: Path) -> None:
    message = fault(file, "", COSCHED_CONNECTOR__LOCAL="x", COSCHED_CONNECTOR__LOCAL__HOSTS="3")
    assert message.endswith("local is set as a value by another variable: unset one")
    message = fault(file, "planning = 3\n", COSCHED_PLANNING__SEED="1")
    assert message == f"{file}: planning must be a table: write [planning]"


def test_variables_of_jobs_are_not_read() -> None:
    environment = {"COSCHED_TASK": "17", "COSCHED_SERVER": "unix:/x", "PLANNING__SEED": "3"}
    assert load_configuration(environment=HOME | environment) == load_configuration(environment=HOME)


def test_an_unknown_key_is_named_with_its_file_and_what_was_meant(file: Path) -> None:
    valid = ", ".join(PlanningSection.model_fields)
    message = fault(file, "[planning]\nsede = 1\n")
    assert message == f"{file}: unknown key planning.sede (did you mean seed?): valid here are {valid}"
    assert "unknown key planing (did you mean planning?): valid sections are domain," in fault(file, "[planing]\n")
    assert fault(file, "[planing]\n").startswith(f"{file}: unknown key")
    assert fault(file, "", COSCHED_PLANNING__SEDE="1").startswith("environment COSCHED_PLANNING__SEDE: unknown key")


def test_all_faults_are_named_at_once(file: Path) -> None:
    message = fault(file, "[planning]\nsede = 1\nshare = 2\npolicy = 'best'\n[dispatch]\nattempts = 0\n")
    for part in ("sede", "share is 2: it must be less", "policy is 'best': it must be 'genetic'", "attempts is 0"):
        assert part in message


@pytest.mark.parametrize("policy", DOMAIN_POLICIES)
def test_a_domain_may_have_any_served_policy_of_the_registry(file: Path, policy: str) -> None:
    file.write_text(f"[planning]\npolicy = '{policy}'\n")
    assert load_configuration(file, HOME).planning.policy == policy


def test_a_policy_for_simulations_alone_is_refused(file: Path) -> None:
    assert "planning.policy is 'edf': it must be 'genetic'" in fault(file, "[planning]\npolicy = 'edf'\n")


def test_licences_have_names_and_numbers(file: Path) -> None:
    file.write_text("[licences]\nmatlab = 4\n'tool@server' = 0\n")
    assert load_configuration(file, HOME).licences == {"matlab": 4, "tool@server": 0}
    assert "licences.matlab is -1" in fault(file, "[licences]\nmatlab = -1\n")
    assert "'mat lab' is no name of a licence" in fault(file, "[licences]\n'mat lab' = 1\n")
    words = '[licences] need [planning] policy = "genetic"'
    assert fault(file, "[licences]\nmatlab = 1\n[planning]\npolicy = 'fcfs-maximum'\n").startswith(words)


def test_a_configuration_without_a_policy_loads_no_arrays() -> None:
    code = "import sys; from cosched.daemon.config.loading import load_configuration as load"
    code += "; load(None, {'HOME': '/x'}); sys.exit(bool({'numpy', 'numba'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[planning]\nseed = '7'\n", "planning.seed is '7': it must be a valid integer"),
        ("[planning]\nseed = true\n", "planning.seed is True: it must be a valid integer"),
        ("[planning]\nstaging = -1\n", "planning.staging: -1 is not a duration: write seconds"),
        ("planning = 3\n", r"planning must be a table: write \[planning\]"),
        ("[objective]\nidle = 0\nmakespan = 0\nlateness = 0\n", "objective: all four weights are 0"),
        ("[objective]\nidle = nan\n", "objective.idle is nan"),
        ("[server]\nlisten = '0.0.0.0:80'\n", "server.listen: '0.0.0.0:80' can be reached from other machines"),
        ("[connector]\nkind = 'condro'\n", "connector 'condro' is not installed: choose one of condor"),
        ("[connector]\nhosts = 3\n", r"connector.hosts must be a table: write \[connector.hosts\]"),
        ("[models]\nfolders = ['a', 3]\n", r"cosched.toml: models.folders.1: 3 is not a path"),
        ("[domain]\nname = 'a b'\n", "domain.name is 'a b'"),
        ("[planning]\nseed = 1\nseed = 2\n", "once only"),
        ("[planning]\nseed = \n", "at line 2"),
        ("\0", "at line 1"),
    ],
)
def test_a_wrong_value_says_what_was_expected(file: Path, text: str, expected: str) -> None:
    assert re.search(expected, fault(file, text))


def test_files_that_cannot_be_read_are_named(file: Path) -> None:
    with pytest.raises(UserError, match=r"cosched\.toml cannot be read \(No such file or directory\): name another"):
        load_configuration(file, HOME)
    file.write_bytes("[domain]\nname = 'x'".encode("utf-16"))
    with pytest.raises(UserError, match=r"cosched\.toml is not UTF-8 text"):
        load_configuration(file, HOME)
    file.write_bytes(b"# " + b"x" * (1 << 20))
    with pytest.raises(UserError, match="larger than"):
        load_configuration(file, HOME)


def test_a_byte_order_mark_does_no_harm(file: Path) -> None:
    file.write_text("\ufeff[planning]\nseed = 5\n")
    assert load_configuration(file, HOME).planning.seed == 5


@pytest.mark.parametrize("url", ["postgresql://ann:secret@db/cosched", "mysql+pymysql://ann:secret@db/x", "secret", ""])
def test_any_database_but_sqlites_is_refused_without_its_password(file: Path, url: str) -> None:
    """It was taken and never tested: two daemons on one server's database would run every task twice."""
    said = fault(file, f'[database]\nurl = "{url}"\n')
    assert said.startswith(f"{file}: database.url: ")
    assert said.endswith("write sqlite:////absolute/path.db")
    assert "ann" not in said


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///relative.db", "sqlite:///:memory:"])
def test_a_database_that_would_not_last_is_refused(file: Path, url: str) -> None:
    assert "names no absolute file: write sqlite:////absolute/path.db" in fault(file, f'[database]\nurl = "{url}"\n')


def test_a_port_for_other_machines_takes_tls_or_a_proxy(file: Path) -> None:
    key = file.parent / "key.pem"
    key.touch(mode=0o600)
    tls = f"listen = '0.0.0.0:443'\ncertificate = 'cert.pem'\nkey = '{key}'\n"
    for address in ("0.0.0.0:80", "[::]:80", "192.0.2.7:80"):
        assert "certificate" in fault(file, f"[server]\nlisten = '{address}'\n")
    file.write_text(f"[server]\n{tls}")
    assert load_configuration(file, HOME).server.certificate == file.parent / "cert.pem"
    file.write_text("[server]\nlisten = '0.0.0.0:80'\n[access]\nproxy = ['192.0.2.1']\n")
    assert load_configuration(file, HOME).server.listen == ("0.0.0.0:80",)
    assert "TLS takes both certificate and key" in fault(file, "[server]\ncertificate = 'cert.pem'\n")
    key.chmod(0o644)
    assert f"{key} can be read by everybody on this machine: chmod o= {key}" in fault(file, f"[server]\n{tls}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("proxy = ['example.org']", "'example.org' is not the address of a proxy"),
        ("proxy = ['127.0.0.1']", "every user of this machine could pose as a proxy"),
        ("proxy = ['10.0.0.1']\nproxy_secret_file = 'none'", "the file with the proxy's secret"),
        ("administrators = ['a b']", "'a b' cannot name a user"),
        ("session = 0", "access.session is 0"),
        ("requests = 0", "access.requests is 0"),
        ("proxy_header = 'X Y'", "access.proxy_header is 'X Y'"),
    ],
)
def test_who_may_do_what_is_checked(file: Path, text: str, expected: str) -> None:
    assert expected in fault(file, f"[access]\n{text}\n")
