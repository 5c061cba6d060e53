# SPDX-License-Identifier: Apache-2.0

# A search provider in the shape of SearXNG, for the tests: python3 searxng.py PORT. It writes the port that it listens on.
# What it finds repeats the words that it was asked for, and the key that it was given, which nobody may get to see.
import hashlib
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


def found(words, key):
    return [
        {"title": "<b>About</b> " + words, "url": "https://example.org/about", "content": "All about it &amp; more."},
        {"title": "The same again", "url": "https://example.org/about", "content": "A page that was found twice."},
        {"title": "Keys", "url": "https://example.org/keys",
         "content": "given [%s] digest [%s]" % (key, hashlib.sha256(key.encode()).hexdigest())},
        {"title": "No page", "url": "javascript:alert(1)", "content": "Nothing that can be fetched."},
    ]


class Search(BaseHTTPRequestHandler):
    def do_GET(self):
        url = urlsplit(self.path)
        asked = parse_qs(url.query)
        status, answer = 200, {"status": "ok"}
        if url.path == "/search":
            key = self.headers.get("Authorization", "").removeprefix("Bearer ")
            answer = {"query": asked["q"][0], "results": found(asked["q"][0], key)}
            if asked.get("format") != ["json"]:
                status, answer = 403, {"error": "the format is not allowed"}
        elif url.path != "/healthz":
            status, answer = 404, {"error": "not found"}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("", int(sys.argv[1])), Search)
print(server.server_port, flush=True)
server.serve_forever()
