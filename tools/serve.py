"""Serve the built book on this machine only: python tools/serve.py FOLDER PORT."""

from __future__ import annotations

import functools
import http.server
import sys


def main(folder: str, port: str) -> int:
    if not port.isdigit() or not 0 < int(port) < 65536:
        print(f"serve: PORT must be a number from 1 to 65535, got {port!r}", file=sys.stderr)
        return 2
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), handler)
    except OSError as error:
        print(
            f"serve: port {port} is not free ({error.strerror}); try `make serve PORT=8001`",
            file=sys.stderr,
        )
        return 2
    print(f"\n  The book is at  http://127.0.0.1:{port}/   (Ctrl+C stops it)\n", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("Stopped.")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
