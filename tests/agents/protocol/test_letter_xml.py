from __future__ import annotations

import math
import time
import typing
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from cosched.agents.protocol import letter_xml
from cosched.agents.protocol.advertised_rooms import advertised_rooms
from cosched.agents.protocol.advertisement import AdvertisedHostClass, AdvertisedService, AvailabilityStep, shared_class
from cosched.agents.protocol.letter_xml import (
    read_letter,
    read_task_document,
    schema_text,
    write_letter,
    write_task_document,
)
from cosched.agents.protocol.letters import Advertisement, Body, Inquiry, Letter, Refused, RemoteTaskState, Request
from cosched.connector.hosts import HostShare
from cosched.connector.jobs import LaunchMode
from cosched.coscheduler.handovers import (
    DocumentParameter,
    DocumentShape,
    ModelBundle,
    ModelBundleFile,
    NamedText,
    NativeJob,
    TaskDocument,
)
from cosched.errors import UserError
from tests.agents.protocol.sample_letters import PUBLISHED, SAMPLE_LETTERS

UUID = "6f1c9f8e-5f0a-4b62-9c35-0a1b7f3f2c11"
CLASSES = '<advertisement><services domain="a" age="0" distance="0" commands="false"><classes hardware="h">'
END = "</classes></services></advertisement></letter>"
HEAD = '<letter xmlns="urn:cosched:agent:1" sender="a" receiver="b" life="1" known="1" number="1">'

texts = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"), max_size=20)
lines = st.text(st.sampled_from("ab \n\t\r<&'\"]]>é漢"), max_size=20)
domains = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,10}", fullmatch=True)
seconds = st.floats(0, 1e9)
moments = st.floats(-1e9, 1e9)
counters = st.integers(0, 2**53 - 1)
counts = st.integers(0, 65536)
runtimes = st.floats(1e-9, 315360000) | st.just(math.inf)
ranges = st.from_regex(r"[1-9][0-9]{0,8}(-[1-9][0-9]{0,8})?", fullmatch=True)


@st.composite
def classes(draw: st.DrawFn) -> AdvertisedHostClass:
    afters = sorted(draw(st.lists(seconds, max_size=5)))
    hosts = sorted(draw(st.sets(st.integers(1, 60000), min_size=len(afters), max_size=len(afters))))
    return AdvertisedHostClass(draw(texts), tuple(AvailabilityStep(*pair) for pair in zip(afters, hosts, strict=True)))


models = st.builds(
    ModelBundle, texts, st.lists(st.builds(ModelBundleFile, st.just("m.psl"), lines), min_size=1, max_size=3).map(tuple)
)
jobs = st.builds(NativeJob, texts, lines, st.lists(st.builds(NamedText, texts, lines), max_size=3).map(tuple))
tasks = st.builds(
    TaskDocument,
    texts,
    texts,
    texts,
    moments,
    counts,
    counts,
    st.booleans(),
    st.none() | seconds,
    texts,
    st.lists(lines, max_size=4).map(tuple),
    st.lists(lines, max_size=2).map(tuple),
    st.lists(runtimes, max_size=4).map(tuple),
    st.none() | models,
    st.lists(st.builds(DocumentParameter, texts, lines, st.booleans(), st.none() | moments), max_size=3).map(tuple),
    st.lists(st.builds(NamedText, texts, lines), max_size=3).map(tuple),
    st.none() | jobs,
    memory=st.none() | st.integers(0, 1 << 30),
    cores_range=st.none() | ranges,
    processes=st.none() | ranges,
    memory_per_process=st.none() | st.integers(0, 1 << 30),
    cores_per_process=st.none() | counts,
    gpus_per_process=st.none() | counts,
    shapes=st.lists(st.builds(DocumentShape, counts, counts, runtimes), max_size=3).map(tuple),
)
SPECIAL = {
    str: texts,
    int: counters,
    float: moments,
    bool: st.booleans(),
    TaskDocument: tasks,
    AdvertisedHostClass: classes(),
    RemoteTaskState: st.sampled_from(RemoteTaskState),
}
FIELDS = {
    "task": st.uuids().map(str),
    "where": domains,
    "domain": domains,
    "hops": st.integers(0, 64),
    "hold": seconds,
    "distance": st.integers(0, 64),
    "age": seconds,
    "visited": st.lists(domains, max_size=3).map(tuple),
    "actual": st.none() | seconds,
    "exit_code": st.none() | st.integers(-255, 255),
}


def a_message(kind: type) -> st.SearchStrategy[typing.Any]:
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{name: FIELDS[name] if name in FIELDS else a_value(hint) for name, hint in hints.items()})


def a_value(hint: typing.Any) -> st.SearchStrategy[typing.Any]:
    if typing.get_origin(hint) is tuple:
        return st.lists(a_value(typing.get_args(hint)[0]), max_size=3).map(tuple)
    if hint in SPECIAL:
        return SPECIAL[hint]
    if typing.get_args(hint):
        return st.none() | a_value(typing.get_args(hint)[0])
    return a_message(hint)


@pytest.mark.parametrize("kind", typing.get_args(Body))
@given(st.data())
def test_every_message_comes_back_as_it_was(kind: type, data: st.DataObject) -> None:
    letter = Letter("a", "b-2", *data.draw(st.tuples(counters, counters, counters)), data.draw(a_message(kind)))
    assert read_letter(write_letter(letter)) == letter


@given(tasks)
def test_a_task_comes_back_as_it_was(document: TaskDocument) -> None:
    assert read_task_document(write_task_document(document)) == document


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: (HEAD + text).encode(errors="replace")))
def test_whatever_comes_ends_in_a_letter_or_in_one_line(data: bytes) -> None:
    fault = ""
    try:
        read_letter(data)
    except UserError as error:
        fault = str(error)
    assert "\n" not in fault


REQUEST = (
    f'<request task="{UUID}" epoch="1" hops="3"><visited>a</visited><document name="t" application="" owner="ann" '
    'deadline="60" least="1" most="0" best_effort="false" directory=""><seconds>{}</seconds></document></request>'
)
LIES = {
    "doctype": '<!DOCTYPE letter SYSTEM "file:///etc/passwd">' + HEAD + "<inquiry/></letter>",
    "external entity": '<!DOCTYPE l [<!ENTITY e SYSTEM "file:///x">]>' + HEAD + "<inquiry>&e;</inquiry></letter>",
    "billion laughs": '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>' + HEAD + "<inquiry>&b;</inquiry></letter>",
    "unknown entity": HEAD + "<inquiry>&e;</inquiry></letter>",
    "xinclude": HEAD + '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/passwd"/></letter>',
    "wrong namespace": HEAD.replace("agent:1", "agent:9") + "<inquiry/></letter>",
    "no namespace": "<letter/>",
    "two bodies": HEAD + "<inquiry/><inquiry/></letter>",
    "no body": HEAD + "</letter>",
    "unknown body": HEAD + "<execute/></letter>",
    "a name with a path": HEAD.replace('sender="a"', 'sender="../a"') + "<inquiry/></letter>",
    "negative free time": f'{HEAD}{CLASSES}<free after="-1" hosts="2"/>{END}',
    "a million hosts": f'{HEAD}{CLASSES}<free after="1" hosts="1000000"/>{END}',
    "hosts that vanish": f'{HEAD}{CLASSES}<free after="1" hosts="5"/><free after="2" hosts="3"/>{END}',
    "not a number": f'{HEAD}<offer task="{UUID}" epoch="1" end="NaN" where="b"/></letter>',
    "never": f'{HEAD}<offer task="{UUID}" epoch="1" end="INF" where="b"/></letter>',
    "a huge epoch": HEAD + f'<reserve task="{UUID}" epoch="' + "9" * 400 + '"/></letter>',
    "a run time too short to plan with": f"{HEAD}{REQUEST.format('1e-300')}</letter>",
    "a run time of more than ten years": f"{HEAD}{REQUEST.format('1e300')}</letter>",
    "a run time that is no number": f"{HEAD}{REQUEST.format('NaN')}</letter>",
    "a deep nesting": HEAD + "<inquiry>" * 5000 + "</inquiry>" * 5000 + "</letter>",
}


@pytest.mark.parametrize("text", LIES.values(), ids=LIES)
def test_what_a_peer_must_not_say_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UserError) as caught:
        read_letter(text.encode())
    assert "\n" not in str(caught.value)
    assert "root:" not in str(caught.value)


def test_a_run_time_that_can_be_planned_with_is_read() -> None:
    for text in ("1e-9", "315360000", "INF", "10"):
        letter = read_letter(f"{HEAD}{REQUEST.format(text)}</letter>".encode())
        assert isinstance(letter.body, Request)
        assert letter.body.document.seconds == (float(text),)


def test_utf_16_hides_no_doctype() -> None:
    with pytest.raises(UserError, match="UTF-8"):
        read_letter(LIES["doctype"].encode("utf-16"))


def test_size_is_looked_at_first() -> None:
    with pytest.raises(UserError, match="bytes"):
        read_letter(b"<" * (letter_xml.MAX_DOCUMENT_BYTES + 1))


@pytest.mark.parametrize("name", ["a\0b", "a\x1bb", "a\ud800b"])
def test_what_xml_cannot_hold_is_said_before_it_is_sent(name: str) -> None:
    request = Request("6f1c9f8e-5f0a-4b62-9c35-0a1b7f3f2c11", 1, 1, (), TaskDocument(name, "x", "u", 1.0))
    with pytest.raises(UserError, match="XML"):
        write_letter(Letter("a", "b", 1, 1, 1, request))


@pytest.mark.parametrize(
    ("words", "read"),
    [("a\x1b[31mb\nc\ud800", "a?[31mb\nc?"), (5000 * "x", 4095 * "x" + "…"), ("“ü” & <b>", "“ü” & <b>")],
)
def test_a_reason_keeps_no_letter_back_whatever_it_says(words: str, read: str) -> None:
    refused = Refused("6f1c9f8e-5f0a-4b62-9c35-0a1b7f3f2c11", 1, words)
    assert read_letter(write_letter(Letter("a", "b", 1, 1, 1, refused))).body == replace(refused, reason=read)


def test_an_impossible_host_count_is_infinite() -> None:
    document = TaskDocument("t", "x", "u", 5.0, seconds=(math.inf, 3.0))
    assert "INF" in write_task_document(document)
    assert read_task_document(write_task_document(document)).seconds == (math.inf, 3.0)


def test_a_schema_without_launch_takes_all_but_tasks_that_are_launched_once() -> None:
    lines = schema_text().decode().splitlines()
    earlier = "\n".join(line for line in lines if 'name="launch"' not in line or "attribute" not in line)
    schema = etree.XMLSchema(etree.fromstring(earlier.encode()))
    each = TaskDocument("t", "x", "u", 5.0)
    once = TaskDocument("t", "x", "u", 5.0, launch=LaunchMode.OPENMPI, processes_per_host=4)
    assert schema.validate(etree.fromstring(write_task_document(each).encode()))
    assert not schema.validate(etree.fromstring(write_task_document(once).encode()))
    assert read_task_document(write_task_document(once)) == once


_RANGED = TaskDocument("t", "x", "u", 5.0, cores_range="8-32", shapes=(DocumentShape(2, 8, 60.0),))


@pytest.mark.parametrize(
    "document",
    [
        _RANGED,
        TaskDocument("t", "x", "u", 5.0, launch=LaunchMode.MPICH, processes="1-256", memory_per_process=2048),
        TaskDocument("t", "x", "u", 5.0, shapes=(DocumentShape(1, 8, 60.0),)),
        TaskDocument("t", "x", "u", 5.0, memory=131072),
    ],
)
def test_a_domain_of_before_ranges_refuses_them_and_takes_all_else(document: TaskDocument) -> None:
    """It would run the task on whole hosts, or with one core: so it must not be able to read it."""
    later = ("cores_range", "processes", "memory_per_process", "cores_per_process", "gpus_per_process", "shapes")
    lines = [
        line.replace('name="memory" type="mebibytes"', 'name="memory" type="count"')
        for line in schema_text().decode().splitlines()
        if not any(f'name="{name}"' in line for name in later)
    ]
    schema = etree.XMLSchema(etree.fromstring("\n".join(lines).encode()))
    assert not schema.validate(etree.fromstring(write_task_document(document).encode()))
    assert read_task_document(write_task_document(document)) == document
    before = TaskDocument("t", "x", "u", 5.0, cores=8, memory=65536, processes_per_host=8, launch=LaunchMode.MPICH)
    assert schema.validate(etree.fromstring(write_task_document(before).encode()))


@pytest.mark.parametrize("text", ["0-4", "8-", "-8", "1-2-3", "1x8", "٨", "1" * 10, ""])
def test_a_range_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="not valid"):
        read_task_document(write_task_document(replace(_RANGED, cores_range=text)))


def test_a_letter_of_each_kind_is_written_and_read_as_release_0_1_did() -> None:
    assert {type(letter.body) for letter in SAMPLE_LETTERS} == set(typing.get_args(Body))
    published = PUBLISHED.read_bytes().splitlines()
    assert [write_letter(letter).partition(b"\n")[2] for letter in SAMPLE_LETTERS] == published
    assert [read_letter(text) for text in published] == list(SAMPLE_LETTERS)


def test_a_neighbour_of_before_rooms_is_told_of_whole_hosts_alone() -> None:
    """Its schema refuses what it does not know, and a letter that is refused advertises nothing."""
    rooms = advertised_rooms([[(0.0, HostShare(4000, 4, 0)), (9.0, HostShare(8000, 8, 1))]])
    service = AdvertisedService("b", 0.0, 0, (shared_class("fast", rooms, 1000),))
    letter = Letter("b", "a", 1, 1, 1, Advertisement((service,)))
    assert read_letter(write_letter(letter)) == letter
    before = write_letter(letter, 1)
    assert b"rooms" not in before
    assert b"memory_per_core" not in before
    found = read_letter(before).body
    assert isinstance(found, Advertisement)
    assert found.services[0].classes[0].free == (AvailabilityStep(9.0, 1),)
    for task in SAMPLE_LETTERS:  # all else is said, or refused as a whole
        assert write_letter(task, 1) == write_letter(task)


def test_the_schema_is_valid() -> None:
    etree.XMLSchema(etree.fromstring(schema_text()))


def test_first_letters_that_come_at_once_have_one_schema_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made on two threads at once, it spoils libxml2 for the life of the process, or ends that."""
    made: list[etree.XMLSchema] = []
    genuine = etree.XMLSchema

    def make(root: etree._Element) -> etree.XMLSchema:
        time.sleep(0.1)  # the others come meanwhile
        made.append(genuine(root))
        return made[-1]

    monkeypatch.setattr(etree, "XMLSchema", make)
    letter_xml._schema.cache_clear()
    text = f"{HEAD}<inquiry/></letter>".encode()
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(read_letter, [text] * 4))) == 1
    assert len(made) == 1


def test_letters_that_others_write_are_read() -> None:
    text = f"<?xml version='1.0'?><!-- by hand -->{HEAD}\n  <inquiry/>\n</letter>"
    assert read_letter(text.encode()) == Letter("a", "b", 1, 1, 1, Inquiry())
    assert read_letter((HEAD + "<advertisement/></letter>").encode()).body == Advertisement(())
