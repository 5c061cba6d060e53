# SPDX-License-Identifier: Apache-2.0

import http.server
import json
import threading
import time
import unittest
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import kubernetes.client
import kubernetes.config
from rig import QUESTION, a_run

from motorcortex import Client, MotorCortexError, Refused, Unreadable
from motorcortex.transport import Failure, Transport

# What answers one request.
Handle = Callable[["Handler"], None]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.seen.append(self.headers.get("Authorization", ""))  # type: ignore[attr-defined]
        self.server.handle_with(self)  # type: ignore[attr-defined]

    def do_PATCH(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_: Any) -> None:
        pass

    def says(self, status: int, body: str | bytes, **headers: str) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in ({"Content-Type": "application/json", "Content-Length": str(len(data))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def chunks(self, *parts: bytes, ends: bool = True) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in parts:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()
        if ends:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.drop()

    def drop(self) -> None:
        self.close_connection = True


class Requests(unittest.TestCase):
    """Requests to a server on the loopback, by the official client as it is."""

    def setUp(self) -> None:
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.seen: list[str] = []
        self.server.seen = self.seen  # type: ignore[attr-defined]
        self.slept: list[float] = []
        # The client keeps its connections until it goes.
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore", ResourceWarning)
        thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(self.server.shutdown)

    def answers(self, *handles: Handle) -> None:
        """The last one stays."""
        left = list(handles)
        self.server.handle_with = lambda handler: (left.pop(0) if len(left) > 1 else left[0])(handler)  # type: ignore[attr-defined]

    def configuration(self, token: str = "") -> kubernetes.client.Configuration:
        configuration = kubernetes.client.Configuration()
        configuration.host = f"http://127.0.0.1:{self.server.server_port}"
        if token:
            configuration.api_key["authorization"] = "Bearer " + token
        return configuration

    def transport(self, configuration: Any = None) -> Transport:
        return Transport("ns", configuration or self.configuration(), time.monotonic, self.slept.append)

    def fails(self, request: Callable[[], Any]) -> Failure:
        with self.assertRaises(Failure) as raised:
            request()
        return raised.exception

    def test_a_read_is_sent_three_times_and_a_change_once(self) -> None:
        self.answers(Handler.drop)
        transport = self.transport()
        self.assertEqual(self.fails(lambda: transport.get("motorruns", "a")).status, 0)
        self.assertEqual((len(self.seen), self.slept), (3, [1.0, 1.0]))
        self.assertTrue(self.fails(lambda: transport.patch("motorruns", "a", [])).sent)
        self.assertEqual(len(self.seen), 4)
        self.assertEqual(self.fails(lambda: transport.get("motorruns", "a", tries=1)).status, 0)
        self.assertEqual(len(self.seen), 5)

    def test_a_request_that_was_not_taken_is_sent_again(self) -> None:
        def busy(handler: Handler) -> None:
            handler.says(429, '{"message":"busy"}', **{"Retry-After": "1"})

        self.answers(busy, busy, lambda handler: handler.says(200, json.dumps(a_run())))
        self.transport().patch("motorruns", "a", [])
        self.assertEqual(len(self.seen), 3)
        self.answers(busy)
        client = Client("ns", self.configuration(), sleep=self.slept.append)
        with self.assertRaisesRegex(MotorCortexError, "Try again later"):
            client.get("a")
        self.assertEqual(len(self.seen), 6)

    def test_all_tries_together_take_the_time_of_one_request(self) -> None:
        released = threading.Event()
        self.addCleanup(released.set)
        self.answers(lambda _: released.wait(60) and None)
        with mock.patch("motorcortex.transport.REQUEST", 1):
            self.assertEqual(self.fails(lambda: self.transport().get("motorruns", "a")).status, 0)
        self.assertEqual(len(self.seen), 1)

    def test_a_server_that_is_not_there(self) -> None:
        configuration = self.configuration()
        configuration.host = "http://127.0.0.1:1"
        self.assertFalse(self.fails(lambda: self.transport(configuration).patch("motorruns", "a", [])).sent)
        self.assertEqual(self.slept, [1.0, 1.0])

    def test_a_token_that_was_replaced_is_read_again(self) -> None:
        tokens = ["old", "new"]

        def known(handler: Handler) -> None:
            if handler.headers["Authorization"] == "Bearer new":
                handler.says(200, json.dumps(a_run(completionTime="t")))
            else:
                handler.says(401, '{"message":"Unauthorized"}')

        self.answers(known)
        client = Client("ns", lambda: self.configuration(tokens.pop(0)))
        self.assertEqual([event.type for event in client.watch("a")], ["Ended"])
        self.assertEqual(self.seen, ["Bearer old", "Bearer new"])

    def test_the_configuration_of_the_pod_is_read_again(self) -> None:
        tokens = ["old", "new"]

        def load(configuration: Any) -> None:
            configuration.host, configuration.api_key = self.configuration().host, {"authorization": "Bearer " + tokens.pop(0)}

        self.answers(lambda handler: handler.says(401, "{}"), lambda handler: handler.says(200, json.dumps(a_run())))
        with mock.patch("kubernetes.config.load_incluster_config", load):
            Client("ns").get("a")
        self.assertEqual(self.seen, ["Bearer old", "Bearer new"])

    def test_a_token_that_is_not_valid_any_more(self) -> None:
        self.answers(lambda handler: handler.says(401, '{"message":"Unauthorized"}'))
        client = Client("ns", self.configuration("old"), sleep=self.slept.append)
        with self.assertRaisesRegex(Refused, "watch the run a: .*read again.*log in again"):
            client.wait("a")
        self.assertEqual(len(self.seen), 2)
        broken = self.configuration("old")
        broken.get_api_key_with_prefix = mock.Mock(side_effect=kubernetes.config.ConfigException("Token file exists but empty."))
        with self.assertRaisesRegex(Refused, "Token file exists but empty.*log in again"):
            Client("ns", broken).get("a")
        configurations = [self.configuration("old")]

        def gone() -> Any:
            if not configurations:
                raise kubernetes.config.ConfigException("the file is gone")
            return configurations.pop()

        with self.assertRaisesRegex(Refused, "the file is gone"):
            Client("ns", gone).get("a")

    def test_a_character_in_two_parts_of_a_stream(self) -> None:
        line = json.dumps({"type": "ADDED", "object": a_run(QUESTION | {"question": "é"})}, ensure_ascii=False).encode() + b"\n"
        middle = line.index("é".encode()) + 1
        self.answers(lambda handler: handler.chunks(line[:middle], line[middle:] + line + b'{"type":"ADD'))
        events = list(self.transport().watch("motorruns", "a", "1", 5))
        self.assertEqual([run["status"]["pendingInputs"][0]["question"] for _, run in events], ["é", "é"])
        self.answers(lambda handler: handler.chunks(line, ends=False))
        stream = self.transport().watch("motorruns", "a", "1", 5)
        self.assertEqual(next(stream)[0], "ADDED")
        self.assertEqual(self.fails(lambda: next(stream)).status, 0)

    def test_a_body_that_is_no_text_and_one_that_is_no_json(self) -> None:
        for body in (b"\xff", b"<html>", b"[" * 100_000):
            self.answers(lambda handler, body=body: handler.says(200, body))
            with self.assertRaisesRegex(Unreadable, "whether a proxy answers"):
                Client("ns", self.configuration(), sleep=self.slept.append).get("a")


if __name__ == "__main__":
    unittest.main()
