"""Draws a timeline that NVSHMEMRS_TRACE has written, as SVG: a row per thread of each PE.

    python timeline_picture.py landscape.json timeline.svg --from 12.5 --to 13.2

The times are milliseconds. Perfetto shows the whole timeline; this is for reports.
"""

from __future__ import annotations

import argparse
import json
from html import escape

COLOURS = {"operation": "#2f6fb3", "wait": "#a8a8a8", "collective": "#e08a2c"}
LEFT, WIDTH, ROW, TOP = 150, 1000, 34, 40


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("timeline")
    parser.add_argument("picture")
    parser.add_argument("--from", dest="start", type=float, default=0.0)
    parser.add_argument("--to", dest="end", type=float, default=float("inf"))
    args = parser.parse_args()
    with open(args.timeline) as file:
        events = json.load(file)["traceEvents"]
    calls = [event for event in events if event["ph"] == "X"]
    last: float = max(call["ts"] + call["dur"] for call in calls)
    start: float = args.start * 1e3
    end: float = min(args.end * 1e3, last)
    if end <= start:
        parser.error(f"--to must be after --from, and --from before the end at {last / 1e3:.3f} ms")
    threads = sorted({(call["pid"], call["tid"]) for call in calls})
    rows = {thread: TOP + ROW * row for row, thread in enumerate(threads)}

    def x(time: float) -> float:
        return LEFT + WIDTH * (min(max(time, start), end) - start) / (end - start)

    height = TOP + ROW * len(rows) + 30
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 20} {height}" '
        'font-family="sans-serif" font-size="12">',
        '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="6" refY="3" orient="auto">'
        '<path d="M0,0 L6,3 L0,6 z" fill="#b02a2a"/></marker></defs>',
        f'<rect width="{LEFT + WIDTH + 20}" height="{height}" fill="white"/>',
    ]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    for thread, y in rows.items():
        name = escape(f"PE {thread[0]} {names.get(thread, '')}"[:20])
        out.append(f'<text x="8" y="{y + 16}">{name}</text>')
        out.append(
            f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y + 27}" y2="{y + 27}" stroke="#ddd"/>'
        )
    for call in calls:
        if call["ts"] + call["dur"] < start or call["ts"] > end:
            continue
        left, right = x(call["ts"]), x(call["ts"] + call["dur"])
        y, width = rows[call["pid"], call["tid"]], max(right - left, 1.5)
        text = escape(f"{call['name']}, {call['dur']:.1f} us, {call['args'].get('site', '')}")
        out.append(
            f'<rect x="{left:.1f}" y="{y}" width="{width:.1f}" height="24" rx="2" '
            f'fill="{COLOURS[call["cat"]]}"><title>{text}</title></rect>'
        )
        if width > 8 * len(call["name"]):
            out.append(f'<text x="{left + 4:.1f}" y="{y + 16}" fill="white">{call["name"]}</text>')
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    for arrow in (event for event in events if event["ph"] == "s"):
        to = ends[arrow["id"]]
        if start <= arrow["ts"] and to["ts"] <= end:
            y1, y2 = rows[arrow["pid"], arrow["tid"]] + 12, rows[to["pid"], to["tid"]] + 12
            out.append(
                f'<line x1="{x(arrow["ts"]):.1f}" y1="{y1}" x2="{x(to["ts"]):.1f}" y2="{y2}" '
                'stroke="#b02a2a" stroke-width="1.2" marker-end="url(#head)"/>'
            )
    out.append(f'<text x="{LEFT}" y="{TOP - 14}">{start / 1e3:.3f} ms</text>')
    out.append(
        f'<text x="{LEFT + WIDTH}" y="{TOP - 14}" text-anchor="end">{end / 1e3:.3f} ms</text></svg>'
    )
    with open(args.picture, "w") as file:
        file.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
