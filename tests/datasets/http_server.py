"""A local HTTP server of raw files that can simulate failures."""

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FileServer:
    """Files, behaviour and request counts of the server."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.gets: Counter[str] = Counter()
        self.broken_transfers = 0  # number of upcoming responses that stop half-way
        self.announces_size = True
        self.half_sent = threading.Event()
        self.may_continue = threading.Event()
        self.may_continue.set()
        self.address = ""

    def url(self, name: str) -> str:
        return f"{self.address}/{name}"

    def sha256(self, name: str) -> str:
        return f"sha256:{hashlib.sha256(self.contents[name]).hexdigest()}"


@contextmanager
def file_server() -> Iterator[FileServer]:
    state = FileServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.lstrip("/")
            state.gets[name] += 1
            if name not in state.contents:
                self.send_error(404)
                return
            content = state.contents[name]
            self.send_response(200)
            if state.announces_size:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
            state.half_sent.set()
            state.may_continue.wait(timeout=60)
            if state.broken_transfers > 0:
                state.broken_transfers -= 1
                return
            self.wfile.write(content[len(content) // 2 :])

        def log_message(self, format, *args):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request, client_address):
            pass  # the client was killed

    server = Server(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        state.may_continue.set()
        server.shutdown()
        server.server_close()
        thread.join()
