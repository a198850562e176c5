"""A public home of raw files: a real HTTP server on this machine, which may misbehave."""

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Home:
    """What the server has, how it behaves, and what was asked of it."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.gets: Counter[str] = Counter()
        self.broken_transfers = 0  # how many answers from now on stop half way
        self.announces_size = True
        self.half_sent = threading.Event()
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.address = ""

    def url(self, name: str) -> str:
        return f"{self.address}/{name}"

    def sha256(self, name: str) -> str:
        return f"sha256:{hashlib.sha256(self.files[name]).hexdigest()}"


@contextmanager
def http_home() -> Iterator[Home]:
    home = Home()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.lstrip("/")
            home.gets[name] += 1
            if name not in home.files:
                self.send_error(404)
                return
            content = home.files[name]
            self.send_response(200)
            if home.announces_size:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
            home.half_sent.set()
            home.may_go_on.wait(timeout=60)
            if home.broken_transfers > 0:
                home.broken_transfers -= 1
                return
            self.wfile.write(content[len(content) // 2 :])

        def log_message(self, format, *args):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request, client_address):
            pass  # a client that was killed

    server = Server(("127.0.0.1", 0), Handler)
    home.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield home
    finally:
        home.may_go_on.set()
        server.shutdown()
        server.server_close()
        thread.join()
