# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of tests/bench/run as Markdown, JSON and an SVG plot."""

import json
import os
from xml.sax.saxutils import escape

COLOURS = {"fairlead": "#0b6e4f", "coredns": "#c1443c"}
OTHER, ECHO = "#7d8ca3", "#c9ced6"
USER_WATCH_S = 5  # of CPU time, that is 500 ticks, to tell user from system
NOISY = 0.15  # the quartiles of the ratio lie further apart than this share of it


def microseconds(ns):
    return f"{ns / 1000:.2f}"


def remarks(row):
    said = []
    if row["busy"] < 0.9:
        said.append("not saturated")
    if row["lost"] > 0.001 * row["sent"]:
        said.append(f"lost {100 * row['lost'] / row['sent']:.2f} %")
    if row["echo_ratio_high"] - row["echo_ratio_low"] > NOISY * row["echo_ratio"]:
        said.append("noisy")
    if row["disturbed"] > 0:
        said.append(f"{row['disturbed']} of {row['rounds']} rounds disturbed")
    if row["fill_lost"] > 0:
        said.append(f"{row['fill_lost']} names lost while filling")
    if row["user_watched_s"] < USER_WATCH_S:
        said.append("user time rough")
    return ", ".join(said)


def table_of(scenario):
    head = ["server", "× echo", "quartiles", "CPU µs/query", "user µs/query", "queries/s",
            "reply bytes", "lost", "busy", "batch", "RSS MiB", "remarks"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for r in sorted(scenario["servers"], key=lambda r: r["echo_ratio"]):
        batch = f"{r['server_batch']:.0f}" if r["server_batch"] else \
            f"client {r['send_batch']:.0f}/{r['recv_batch']:.0f}"
        lines.append("| " + " | ".join([
            f"{r['server']} {r['version']}".strip(), f"{r['echo_ratio']:.2f}",
            f"{r['echo_ratio_low']:.2f}–{r['echo_ratio_high']:.2f}",
            microseconds(r["ns_per_query"]), microseconds(r["user_ns_per_query"]),
            f"{r['qps']:,.0f}", f"{r['reply_bytes']:.0f}", str(r["lost"]),
            f"{100 * r['busy']:.0f} %", batch, f"{r['rss_kb'] / 1024:.1f}", remarks(r)]) + " |")
    return lines


def markdown_of(scenario):
    lines = [f"## {scenario['name']}: {scenario['title']}", ""]
    failed = [m for m in scenario["missing"] if not m["expected"]]
    if failed:
        lines += ["**NOT MEASURED: " + ", ".join(m["server"] for m in failed) + "**", ""]
        lines += [f"- **{m['server']}**: " + " ".join(m["why"].split()) for m in failed] + [""]
    lines += table_of(scenario) + [""]
    for v in scenario["verdicts"]:
        if v["value"] is None:
            lines.append(f"- **not measured**: {v['what']}")
            continue
        word = "held" if v["held"] else "**MISSED**"
        lines.append(f"- {word}: {v['what']} (now {v['value']:.2f})")
    for m in scenario["missing"]:
        if m["expected"]:
            lines.append(f"- left out: {m['server']}: {m['why']}")
    if scenario["note"]:
        lines.append(f"- {scenario['note']}")
    return lines + [""]


def markdown(result):
    m, o = result["machine"], result["options"]
    lines = ["# CPU per query, as multiples of a bare UDP echo", "",
             f"{m['date']}, {m['cpu']}, {m['cpus']} CPUs, Linux {m['kernel']}, load average at the"
             f" start {m['load_average']:.2f}. {o['rounds']} interleaved rounds of {o['seconds']}"
             f" s, window {o['window']} over {o['sockets']} source ports, server on CPU"
             f" {o['server_cpu']}, client on CPU {o['client_cpu']}. Ratios of medians; compare"
             " within one run only.", ""]
    if o["quick"] or o["rounds"] < 10:
        lines += ["**A smoke run: fewer than ten rounds. Do not quote these numbers.**", ""]
    for s in result["scenarios"]:
        lines += markdown_of(s)
    lines += ["`echo/N` replies with N bytes; each server is compared with the echo of its own"
              " reply size. *batch* is the echo's mean number of messages per `recvmmsg`; for"
              " others the client's mean per `sendmmsg`/`recvmmsg`. *user* is tick-sampled.", ""]
    return "\n".join(lines)


# ---- the plot ----

LEFT, BAR, GAP, WIDTH, RIGHT = 130, 18, 6, 560, 90


def text(x, y, content, size=12, anchor="start", weight="normal", fill="#222"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
            f' font-weight="{weight}" fill="{fill}">{escape(content)}</text>')


def bar(y, row, scale):
    name, value = row["server"], row["echo_ratio"]
    colour = ECHO if name.startswith("echo") else COLOURS.get(name, OTHER)
    middle, low, high = (y + BAR / 2, LEFT + row["echo_ratio_low"] * scale,
                         LEFT + row["echo_ratio_high"] * scale)
    return [text(LEFT - 8, y + BAR - 5, name, anchor="end"),
            f'<rect x="{LEFT}" y="{y}" width="{value * scale:.1f}" height="{BAR}"'
            f' fill="{colour}"/>',
            f'<path d="M{low:.1f} {middle}H{high:.1f}" stroke="#222" stroke-width="1.5"/>',
            text(max(high, LEFT + value * scale) + 6, y + BAR - 5, f"{value:.2f}")]


def panel(y, scenario, scale):
    """One scenario's bars; returns the marks and the height used."""
    rows = sorted(scenario["servers"], key=lambda r: r["echo_ratio"])
    marks = [text(LEFT, y + 14, f"{scenario['name']}: {scenario['title']}", 14, weight="bold")]
    top = y + 26
    for i, row in enumerate(rows):
        marks += bar(top + i * (BAR + GAP), row, scale)
    end = top + len(rows) * (BAR + GAP)
    bound = scenario["hold"].get("echo_ratio")
    if bound is not None:
        x = LEFT + bound * scale
        marks.append(f'<path d="M{x:.1f} {top - 4}V{end}" stroke="#0b6e4f" stroke-width="1.5"'
                     ' stroke-dasharray="4 3"/>')
        marks.append(text(x + 3, end + 10, f"to hold: {bound}", 10, fill="#0b6e4f"))
    gone = [m["server"] for m in scenario["missing"] if not m["expected"]]
    if gone:
        marks.append(text(LEFT, end + 24, "not measured: " + ", ".join(gone), 12, weight="bold",
                          fill="#c1443c"))
        end += 16
    return marks, end + 34 - y


def svg(result):
    rows = [r for s in result["scenarios"] for r in s["servers"]]
    longest = max((max(r["echo_ratio"], r["echo_ratio_high"]) for r in rows), default=1)
    scale = WIDTH / max(longest, 1)
    marks, y = [text(LEFT, 22, "CPU per query, multiples of a bare UDP echo (lower is better)", 15,
                     weight="bold")], 40
    for scenario in result["scenarios"]:
        more, height = panel(y, scenario, scale)
        marks += more
        y += height
    width = LEFT + WIDTH + RIGHT
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}"'
            f' height="{y}" font-family="sans-serif"><rect width="100%" height="100%"'
            ' fill="#fff"/>\n' + "\n".join(marks) + "\n</svg>\n")


def write(result, folder):
    os.makedirs(folder, exist_ok=True)
    for name, content in (("bench.md", markdown(result)), ("bench.svg", svg(result)),
                          ("bench.json", json.dumps(result, indent=1) + "\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(content)
