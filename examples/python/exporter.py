"""Shows a running job to Prometheus: its PEs' operations, heap usage, and data transfers.

    NVSHMEMRS_TRAFFIC=1 nvshmemrs-run -n 4 -- python program.py &
    python exporter.py $! 9400

Prometheus, or curl, then asks http://127.0.0.1:9400/metrics. Port 0 takes any free port."""

import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

from nvshmemrs import inspect


def metrics(seen: inspect.Snapshot) -> Iterator[tuple[str, str, float]]:
    """Name, labels and value of everything that is shown of a snapshot."""
    yield "nvshmemrs_pes", "", seen.n_pes
    for pe in seen.pes:
        label = f'{{pe="{pe.pe}"}}'
        yield "nvshmemrs_pe_active", label, int(pe.state == inspect.State.ACTIVE)
        yield "nvshmemrs_pe_holds_others_up", label, int(pe.pe in seen.culprits)
        waits = [wait.seconds for wait in seen.waits if wait.pe == pe.pe]
        yield "nvshmemrs_pe_waits_seconds", label, max(waits, default=0)
        if pe.details:
            yield "nvshmemrs_heap_used_bytes", label, pe.details.heap.used_bytes
            yield "nvshmemrs_heap_bytes", label, pe.details.heap.bytes
            for one in pe.details.traffic or []:
                pair = f'{{pe="{pe.pe}",target="{one.pe}"}}'
                yield "nvshmemrs_put_bytes_total", pair, one.put_bytes
                yield "nvshmemrs_get_bytes_total", pair, one.get_bytes
                yield "nvshmemrs_atomics_total", pair, one.atomics


class Exporter(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        shown = metrics(job.snapshot())
        lines = sorted(f"{name}{labels} {value}\n" for name, labels, value in shown)
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write("".join(lines).encode())

    def log_message(self, format: str, *args: object) -> None:
        """One line per request is too much."""


job = inspect.attach(int(sys.argv[1]))
server = HTTPServer(("127.0.0.1", int(sys.argv[2])), Exporter)
print(f"http://127.0.0.1:{server.server_port}/metrics", flush=True)
server.serve_forever()
