from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from email.message import EmailMessage
from typing import TYPE_CHECKING

import pytest

from cosched.app.notifications.transports import MailServer, post_hook, send_mail
from cosched.errors import SystemFault

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def saying(answer: bytes) -> Iterator[str]:
    """Be a server that says one thing to whoever comes, whatever they say, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answering() -> None:
            guest, _ = server.accept()
            with guest:
                guest.sendall(answer)
                guest.shutdown(socket.SHUT_WR)
                while guest.recv(4096):
                    pass

        thread = threading.Thread(target=answering)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            thread.join()


@pytest.fixture
def silent() -> Iterator[str]:
    """An address at which nobody listens, and nobody else will."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


def mail() -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "cosched@example.org", "ann@example.org", "task 7"
    message.set_content("completed")
    return message


def test_a_hook_that_takes_it_says_nothing() -> None:
    with saying(b"HTTP/1.1 204 No Content\r\n\r\n") as address:
        post_hook(f"http://{address}/", b"{}", {})


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 302 There\r\nLocation: http://127.0.0.1:1/\r\n\r\n"],
)
def test_any_other_answer_of_a_hook_is_a_fault(answer: bytes) -> None:
    with saying(answer) as address, pytest.raises(SystemFault, match="the web hook answered "):
        post_hook(f"http://{address}/", b"{}", {})


def test_nonsense_instead_of_http_is_a_fault() -> None:
    with saying(b"220 ready\r\n") as address, pytest.raises(SystemFault, match="could not be reached"):
        post_hook(f"http://{address}/", b"{}", {})


@pytest.mark.parametrize("address", ["", "127.0.0.1:99999", "[::1"])
def test_a_hook_where_nobody_is_is_a_fault(address: str, silent: str) -> None:
    with pytest.raises(SystemFault, match="could not be reached"):
        post_hook(f"http://{address or silent}/", b"{}", {})


def test_a_server_that_takes_no_mail_is_a_fault() -> None:
    with saying(b"554 go away\r\n") as address, pytest.raises(SystemFault, match=r"did not take it .*554"):
        send_mail(mail(), MailServer(f"smtp://{address}"))


@pytest.mark.parametrize("scheme", ["smtp", "smtps", "smtp+starttls"])
def test_no_mail_server_is_a_fault(scheme: str, silent: str) -> None:
    with pytest.raises(SystemFault, match="did not take it"):
        send_mail(mail(), MailServer(f"{scheme}://{silent}"))


def test_a_password_never_leaves_without_encryption_that_was_asked_for() -> None:
    """Who asks for STARTTLS gets it or nothing: a server that does not offer it is not logged in at."""
    with saying(b"220 ready\r\n250 plain\r\n") as address, pytest.raises(SystemFault, match="STARTTLS"):
        send_mail(mail(), MailServer(f"smtp+starttls://{address}", "cosched", "secret"))
