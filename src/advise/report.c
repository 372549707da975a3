/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints advice. Namespaces to which no client belongs for certain are left out. */
#include "advise/report.h"

#include <inttypes.h>

#include "advise/replay.h"

static const char *const verdicts[] = {
	[ADVISE_LOWER] = "lower",
	[ADVISE_KEEP] = "keep",
	[ADVISE_WITHHELD] = "withheld",
};

static const char *const libc_names[] = { [ADVISE_GLIBC] = "glibc", [ADVISE_MUSL] = "musl" };

/* ---- replay ---- */

static bool is_replayed(const struct advise_advice *advice, const struct advise_namespace *ns,
			unsigned libc)
{
	return ns->verdict == ADVISE_LOWER && (advice->options.libcs & 1U << libc) != 0;
}

bool advise_report_is_proven(const struct advise_advice *advice)
{
	for (size_t i = 0; i < advice->namespaces.n; i++) {
		const struct advise_namespace *ns = advice->namespaces.v[i];
		for (unsigned libc = 0; libc < ADVISE_LIBCS; libc++) {
			struct advise_replay replay;
			if (!is_replayed(advice, ns, libc))
				continue;
			advise_replay(advice, ns, (enum advise_libc)libc, &replay);
			if (replay.changed + replay.unproven > 0)
				return false;
		}
	}
	return true;
}

/* ---- table ---- */

static void print_row(const struct advise_report *report, const struct advise_namespace *ns,
		      struct strbuf *out)
{
	unsigned present = report->advice->options.ndots;
	unsigned percent = ns->queries > 0 ? (unsigned)(ns->saved * 100 / ns->queries) : 0;
	strbuf_addf(out, "%-24.*s %7zu %9" PRIu64 " %9" PRIu64 "  ", (int)ns->name.n, ns->name.p,
		    ns->clients.n, ns->queries, ns->lookups);
	if (ns->verdict == ADVISE_LOWER)
		strbuf_addf(out, "%2u -> %-2u   %9" PRIu64 " %3u %%", present, ns->ndots, ns->saved,
			    percent);
	else if (ns->verdict == ADVISE_KEEP)
		strbuf_addf(out, "keep %-2u    %9d      ", present, 0);
	else
		strbuf_addf(out, "withheld   %9s      ", "-");
	if (ns->verdict == ADVISE_WITHHELD)
		strbuf_addf(out, "  not enough evidence: %s", ns->why);
	else if (ns->why != NULL)
		strbuf_addf(out, "  %s%s", ns->verdict == ADVISE_LOWER ? "not less: " : "",
			    ns->why);
	strbuf_addc(out, '\n');
}

static void print_virtual_notes(const struct advise_advice *advice, struct strbuf *out)
{
	bool is_first = true;
	for (size_t i = 0; i < advice->namespaces.n; i++) {
		const struct advise_namespace *ns = advice->namespaces.v[i];
		if (ns->clients.n == 0 || ns->saved_by_virtual_suffix <= ns->saved)
			continue;
		if (is_first)
			strbuf_adds(out,
				    "\nA virtual suffix (plugin searchpath) would save more:\n");
		is_first = false;
		strbuf_addf(out, "  %-22.*s %9" PRIu64 " queries with the one search domain %.*s\n",
			    (int)ns->name.n, ns->name.p, ns->saved_by_virtual_suffix,
			    (int)ns->virtual_suffix.n, ns->virtual_suffix.p);
	}
}

static void print_replay(const struct advise_advice *advice, struct strbuf *out)
{
	strbuf_adds(out, "\nReplay of the log with the advised ndots:\n");
	for (size_t i = 0; i < advice->namespaces.n; i++) {
		const struct advise_namespace *ns = advice->namespaces.v[i];
		for (unsigned libc = 0; libc < ADVISE_LIBCS; libc++) {
			struct advise_replay replay;
			if (ns->clients.n == 0 || !is_replayed(advice, ns, libc))
				continue;
			advise_replay(advice, ns, (enum advise_libc)libc, &replay);
			strbuf_addf(out,
				    "  %-22.*s %-5s  %" PRIu64 " look-ups, %" PRIu64
				    " answers changed, %" PRIu64 " not known; queries %" PRIu64
				    " -> %" PRIu64 "\n",
				    (int)ns->name.n, ns->name.p, libc_names[libc], replay.lookups,
				    replay.changed, replay.unproven, replay.before, replay.after);
		}
	}
}

static void print_input(const struct advise_report *report, struct strbuf *out)
{
	const struct advise_input *input = report->input;
	strbuf_addf(out, "\n%" PRIu64 " queries read", input->queries);
	if (input->other_lines > 0)
		strbuf_addf(out, "; %" PRIu64 " other lines, the first at %.*s", input->other_lines,
			    (int)input->first_other_line.n, input->first_other_line.p);
	if (report->advice->other_clients > 0)
		strbuf_addf(out, "; %" PRIu64 " clients belong to no namespace for certain",
			    report->advice->other_clients);
	strbuf_addc(out, '\n');
	if (report->advice->incomplete)
		strbuf_addf(out,
			    "The limit of %d clients, or the limit of names (--max-names), was "
			    "reached: nothing is advised.\n",
			    ADVISE_CLIENTS_MAX);
}

void advise_report_table(const struct advise_report *report, struct strbuf *out)
{
	strbuf_addf(out, "%-24s %7s %9s %9s  %-10s %9s\n", "NAMESPACE", "CLIENTS", "QUERIES",
		    "LOOK-UPS", "NDOTS", "SAVED");
	for (size_t i = 0; i < report->advice->namespaces.n; i++) {
		if (report->advice->namespaces.v[i]->clients.n > 0)
			print_row(report, report->advice->namespaces.v[i], out);
	}
	print_virtual_notes(report->advice, out);
	if (report->has_replay)
		print_replay(report->advice, out);
	print_input(report, out);
}

/* ---- JSON ---- */

static void add_json_replay(const struct advise_report *report, const struct advise_namespace *ns,
			    struct strbuf *out)
{
	const char *comma = "";
	strbuf_adds(out, ",\"replay\":{");
	for (unsigned libc = 0; libc < ADVISE_LIBCS; libc++) {
		struct advise_replay replay;
		if (!is_replayed(report->advice, ns, libc))
			continue;
		advise_replay(report->advice, ns, (enum advise_libc)libc, &replay);
		strbuf_addf(out,
			    "%s\"%s\":{\"lookups\":%" PRIu64 ",\"changed\":%" PRIu64
			    ",\"notKnown\":%" PRIu64 ",\"queriesBefore\":%" PRIu64
			    ",\"queriesAfter\":%" PRIu64 "}",
			    comma, libc_names[libc], replay.lookups, replay.changed,
			    replay.unproven, replay.before, replay.after);
		comma = ",";
	}
	strbuf_addc(out, '}');
}

static void add_json_search(const struct advise_list *list, struct strbuf *out)
{
	strbuf_adds(out, ",\"search\":[");
	for (size_t i = 0; i < list->n; i++) {
		if (i > 0)
			strbuf_addc(out, ',');
		strbuf_add_json(out, list->domain[i]);
	}
	strbuf_addc(out, ']');
}

static void add_json_namespace(const struct advise_report *report,
			       const struct advise_namespace *ns, struct strbuf *out)
{
	strbuf_adds(out, "{\"namespace\":");
	strbuf_add_json(out, ns->name);
	strbuf_addf(out,
		    ",\"verdict\":\"%s\",\"clients\":%zu,\"queries\":%" PRIu64
		    ",\"lookups\":%" PRIu64 ",\"ndots\":%u,\"saved\":%" PRIu64
		    ",\"savedByVirtualSuffix\":%" PRIu64,
		    verdicts[ns->verdict], ns->clients.n, ns->queries, ns->lookups, ns->ndots,
		    ns->saved, ns->saved_by_virtual_suffix);
	add_json_search(&ns->list, out);
	if (ns->why != NULL) {
		strbuf_adds(out, ",\"reason\":");
		strbuf_add_json(out, slice_of(ns->why));
	}
	if (report->has_replay)
		add_json_replay(report, ns, out);
	strbuf_addc(out, '}');
}

void advise_report_json(const struct advise_report *report, struct strbuf *out)
{
	const struct advise_advice *advice = report->advice;
	const struct advise_input *input = report->input;
	const char *comma = "";
	strbuf_adds(out, "{\"clusterDomain\":");
	strbuf_add_json(out, advice->options.zone);
	strbuf_addf(out,
		    ",\"presentNdots\":%u,\"queries\":%" PRIu64 ",\"otherLines\":%" PRIu64
		    ",\"firstOtherLine\":",
		    advice->options.ndots, input->queries, input->other_lines);
	strbuf_add_json(out, input->first_other_line);
	strbuf_addf(out, ",\"otherClients\":%" PRIu64 ",\"limitReached\":%s,\"namespaces\":[",
		    advice->other_clients, advice->incomplete ? "true" : "false");
	for (size_t i = 0; i < advice->namespaces.n; i++) {
		if (advice->namespaces.v[i]->clients.n == 0)
			continue;
		strbuf_adds(out, comma);
		add_json_namespace(report, advice->namespaces.v[i], out);
		comma = ",";
	}
	strbuf_adds(out, "]}\n");
}
