"""`cosched peer` pairs with neighbouring domains, lists them and shows the adviser's findings."""

import http.client
import ipaddress
import os
import ssl
import sys
from dataclasses import asdict
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

import typer

from cosched.agents.agent_settings import PeerRole
from cosched.api.documents import AdvertisingView, AdviceView, NetworkView, OutlookView
from cosched.api.times import format_optional_time
from cosched.cli.connection import ServerOption, connect
from cosched.cli.output import JsonOption, clean, emit_json, print_table
from cosched.durations import format_duration
from cosched.errors import SystemFault, UserError

__all__ = ["app", "network_lines"]


def network_lines(network: NetworkView) -> list[str]:
    """Return what an agent has done, and how it is advised."""
    each = "–" if network.letters_each is None else f"{network.letters_each:.1f}"
    pairs = [
        ("since", format_optional_time(network.since)),
        ("offered", f"tasks {network.offered} times, {network.in_vain} of them in vain"),
        ("forwarded", f"{network.forwarded}, of which {network.came_back} came back without a run"),
        ("taken", f"{network.taken}{'' if network.hops is None else f', over {network.hops:.1f} hops on average'}"),
        ("letters", f"{each} for each task, {network.spreading} to tell and ask what is free"),
        ("known", _known(network)),
        ("advertising", _way(network.advertising)),
        ("adviser", network.adviser + (f"; {network.fault}" if network.fault else "")),
    ]
    lines = [f"{label + ':':13}{text}" for label, text in pairs if text]
    return lines if network.advice is None else [*lines, *_advice(network.advice)]


def _known(network: NetworkView) -> str:
    if network.staleness is None:
        return ""
    apart = "" if network.misjudged is None else f"; ends promised lay {format_duration(network.misjudged)} from them"
    return f"takers were chosen by words {format_duration(network.staleness)} old{apart}"


def _advice(advice: AdviceView) -> list[str]:
    when = format_optional_time(advice.time)
    head = f"advice:      of {when}, {advice.tried} ways simulated on {advice.tasks} recent tasks"
    if advice.best == advice.present:
        return [head, f"  stay with  {_way(advice.present)}: {_outlook(advice.present_outlook)}"]
    verdict = "adopted" if advice.adopted else "better"
    return [
        head,
        f"  {verdict + ':':11}{_way(advice.best)}: {_outlook(advice.best_outlook)}",
        f"  instead of {_way(advice.present)}: {_outlook(advice.present_outlook)}",
    ]


def _way(way: AdvertisingView) -> str:
    told = "told" if way.push else "asked for"
    return (
        f"{told} every {format_duration(way.period)}, scope {way.scope}, believed for {format_duration(way.lifetime)}"
    )


def _outlook(outlook: OutlookView) -> str:
    return f"{100 * outlook.late:.1f} % late, {outlook.letters:.1f} letters a task"


# No `from __future__ import annotations`: typer reads the annotations of commands when they run.


app = typer.Typer()

ConfigOption = Annotated[Path | None, typer.Option("--config", help="The file; else the usual places.")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the domain.")]


@app.command()
def init(
    config: ConfigOption = None,
    out: Annotated[Path | None, typer.Option(help="The file for your neighbours; else DOMAIN.peer.toml here.")] = None,
) -> None:
    """Make this domain's key and certificate unless they exist, and the file for its neighbours."""
    from cosched.agents.transport import tls
    from cosched.agents.transport.allow_list import PeerEntry

    configuration = _configuration(config)
    name, agent = configuration.domain.name, configuration.agent
    address = _domain_name(agent.address or agent.listen)
    made = not (agent.key.exists() and agent.certificate.exists())
    if made:
        key, pem = tls.make_certificate(name)
        _write(agent.key, key, 0o600)
        _write(agent.certificate, pem, 0o644)
    entry = PeerEntry(name=name, address=address, certificate=agent.certificate.read_text())
    target = out or Path(f"{name}.peer.toml")
    _write(target, entry.text.encode(), 0o644)
    sys.stdout.write(
        f"{'made' if made else 'kept'} {agent.key} and {agent.certificate}\n"
        f"give {target} to your neighbours: they run `cosched peer add {target.name}`\n"
    )


def _domain_name(address: str) -> str:
    """Return an address by which neighbours can call us.

    An address that stands for all of this machine's is refused.
    """
    host = address.rpartition(":")[0].strip("[]")
    try:
        everywhere = ipaddress.ip_address(host).is_unspecified
    except ValueError:
        everywhere = False  # a name
    if everywhere:
        raise UserError(
            f"{address} is every address of this machine and tells neighbours none: set [agent] address to "
            "the host:port by which they reach it"
        )
    return address


@app.command()
def add(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `cosched peer init` made in that domain.")],
    role: Annotated[PeerRole, typer.Option(help="What it is to us.")] = PeerRole.NEIGHBOUR,
    address: Annotated[str, typer.Option(metavar="HOST:PORT", help="Instead of the file's.")] = "",
    config: ConfigOption = None,
) -> None:
    """Admit a neighbouring domain; a running daemon notices it within seconds."""
    from cosched.agents.transport.allow_list import read_peer_entry

    entry = read_peer_entry(file)
    entry = entry.model_copy(update={"role": role, "address": address or entry.address})
    if entry.name == _configuration(config).domain.name:
        raise UserError(f"{file} is about {entry.name}, which is this domain: add a neighbour's")
    path = _book(config).put(entry)
    read_peer_entry(path)
    sys.stdout.write(f"{entry.name} at {entry.address} is a {role} now ({path})\n")


@app.command("list")
def list_peers(server: ServerOption = "", json: JsonOption = False) -> None:
    """List the neighbours: their offers, and tasks exchanged with them."""
    with connect(server) as client:
        peers = client.peers()
    if json:
        emit_json([asdict(peer) for peer in peers])
        return
    headings = ("PEER", "ADDRESS", "ROLE", "STATE", "HEARD", "FREE", "HARDWARE", "GIVEN", "TAKEN", "FAULT")
    rows = [
        (
            peer.name,
            peer.address,
            peer.role,
            "paused" if peer.paused else "active",
            format_optional_time(peer.heard),
            f"{peer.free}/{peer.hosts}" + (f" ({peer.free_cores}/{peer.cores} cores)" if peer.cores else ""),
            ", ".join(peer.hardware),
            str(peer.given),
            str(peer.taken),
            peer.fault,
        )
        for peer in peers
    ]
    print_table(headings, rows)


@app.command()
def advice(server: ServerOption = "", json: JsonOption = False) -> None:
    """Show the agent's work and the best settings that its adviser found."""
    with connect(server) as client:
        found = client.network()
    if found is None:
        raise UserError("this domain has no agent: set [agent] listen to the host:port at which neighbours reach it")
    if json:
        emit_json(asdict(found))
    else:
        sys.stdout.write("".join(f"{clean(line)}\n" for line in network_lines(found)))


@app.command()
def ping(name: NameArgument, config: ConfigOption = None) -> None:
    """Call a neighbour's agent as the daemon would, over TLS with both certificates."""
    from cosched.agents.transport import tls
    from cosched.agents.transport.peer_client import answer_text, call_fault, call_peer

    agent = _configuration(config).agent
    entry = _book(config).get(name)
    try:
        context = tls.client_context(agent.certificate, agent.key, entry.certificate)
        reply = call_peer(entry, context, "GET", "/ping")
    except (OSError, http.client.HTTPException) as error:
        fault = call_fault(error)
        if isinstance(error, ssl.SSLCertVerificationError):
            raise SystemFault(f"{name} at {entry.address} is not called: {fault}") from error
        raise SystemFault(
            f"{name} at {entry.address} does not answer ({fault}): see whether its daemon runs, and "
            "whether it has this domain among its peers"
        ) from error
    if (reply.status, reply.body.decode(errors="replace")) != (HTTPStatus.OK, name):
        raise SystemFault(
            f"what answers at {entry.address} is not the agent of {name} that you added, or refuses "
            f"({answer_text(reply)}): correct its address, or add the new file of {name}"
        )
    sys.stdout.write(f"{name} answers at {entry.address}\n")


@app.command()
def pause(name: NameArgument, config: ConfigOption = None) -> None:
    """Stop new exchanges with a neighbour; those under way go on."""
    _book(config).put(_book(config).get(name).model_copy(update={"paused": True}))
    sys.stdout.write(f"{name} is paused\n")


@app.command()
def resume(name: NameArgument, config: ConfigOption = None) -> None:
    """Allow new exchanges with a neighbour again."""
    _book(config).put(_book(config).get(name).model_copy(update={"paused": False}))
    sys.stdout.write(f"{name} is active\n")


@app.command()
def remove(name: NameArgument, config: ConfigOption = None) -> None:
    """End all contact with a domain; unstarted tasks are taken back.

    Pause it first to let the others end.
    """
    _book(config).remove(name)
    sys.stdout.write(f"{name} is removed\n")


def _configuration(config: Path | None) -> Any:
    from cosched.daemon.config.loading import load_configuration

    configuration = load_configuration(config)
    if not configuration.agent.listen:
        raise UserError("this domain has no agent: set [agent] listen to the host:port at which neighbours reach it")
    return configuration


def _book(config: Path | None) -> Any:
    from cosched.agents.transport.allow_list import PeerAllowList

    return PeerAllowList(_configuration(config).agent.peers)


def _write(path: Path, content: bytes, mode: int) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            file.write(content)
    except OSError as error:
        raise SystemFault(f"{path} cannot be written ({error.strerror}): correct its folder") from error
