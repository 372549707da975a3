/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of a node's agent, as text. */
#include "api/egress/node_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

void egress_report_name(const char *node, char out[EGRESS_REPORT_NAME_MAX + 1])
{
	static const struct hash_key key = { 0, 0 }; /* the same in each process */
	size_t room = EGRESS_REPORT_NAME_MAX - strlen(EGRESS_REPORT_NAME);
	if (strlen(node) <= room)
		snprintf(out, EGRESS_REPORT_NAME_MAX + 1, EGRESS_REPORT_NAME "%s", node);
	else /* a node's name may be as long as an object's */
		snprintf(out, EGRESS_REPORT_NAME_MAX + 1, EGRESS_REPORT_NAME "%016" PRIx64,
			 hash_bytes(&key, node, strlen(node)));
}

bool egress_report_add_line(struct strbuf *lines, const char *ns, const char *uid,
			    int64_t generation)
{
	if (lines->n + strlen(ns) + strlen(uid) + 32 > EGRESS_REPORT_LINES_BYTES)
		return false;
	strbuf_addf(lines, "%s %s %" PRId64 "\n", ns, uid, generation);
	return true;
}

static bool parse_line(struct slice line, struct egress_report_line *ret)
{
	uint64_t number = 0;
	struct egress_report_line parsed;
	parsed.ns = slice_cut(&line, ' ');
	parsed.uid = slice_cut(&line, ' ');
	if (parsed.ns.n == 0 || parsed.uid.n == 0 || slice_u64(line, &number) < 0 ||
	    number > INT64_MAX)
		return false;
	parsed.generation = (int64_t)number;
	*ret = parsed;
	return true;
}

bool egress_report_next_line(struct slice *lines, struct egress_report_line *ret)
{
	while (lines->n != 0) {
		if (parse_line(slice_cut(lines, '\n'), ret))
			return true;
	}
	return false;
}

/* ---- problems ---- */

static bool is_printable(char byte)
{
	return byte >= ' ' && byte <= '~';
}

bool egress_report_add_problem(struct strbuf *lines, const char *ns, const char *reason,
			       const char *message)
{
	char text[EGRESS_REPORT_MESSAGE_MAX + 1];
	size_t n = 0;
	for (; n < EGRESS_REPORT_MESSAGE_MAX && message[n] != '\0'; n++)
		text[n] = is_printable(message[n]) ? message[n] : '?';
	text[n] = '\0';
	if (lines->n + strlen(ns) + strlen(reason) + n + 3 > EGRESS_REPORT_PROBLEMS_BYTES)
		return false;
	strbuf_addf(lines, "%s %s %s\n", ns, reason, text);
	return true;
}

static bool parse_problem(struct slice line, struct egress_report_problem *ret)
{
	struct egress_report_problem parsed;
	parsed.ns = slice_cut(&line, ' ');
	parsed.reason = slice_cut(&line, ' ');
	parsed.message = line;
	if (parsed.ns.n == 0 || parsed.reason.n == 0 || line.n == 0 ||
	    line.n > EGRESS_REPORT_MESSAGE_MAX)
		return false;
	for (size_t i = 0; i < line.n; i++) {
		if (!is_printable(line.p[i]))
			return false;
	}
	*ret = parsed;
	return true;
}

bool egress_report_next_problem(struct slice *lines, struct egress_report_problem *ret)
{
	while (lines->n != 0) {
		if (parse_problem(slice_cut(lines, '\n'), ret))
			return true;
	}
	return false;
}

/* ---- names that were let go ---- */

bool egress_report_add_released(struct strbuf *lines, const char *name, const char *mark)
{
	if (lines->n + strlen(name) + strlen(mark) + 2 > EGRESS_REPORT_RELEASED_BYTES)
		return false;
	strbuf_addf(lines, "%s %s\n", name, mark);
	return true;
}

struct slice egress_report_next_released(struct slice *lines)
{
	while (lines->n != 0) {
		struct slice line = slice_cut(lines, '\n');
		if (line.n != 0)
			return line;
	}
	return SLICE("");
}

/* ---- clients ---- */

bool egress_report_add_client(struct strbuf *lines, const char *ns, const char *address)
{
	if (lines->n + strlen(ns) + strlen(address) + 2 > EGRESS_REPORT_CLIENTS_BYTES)
		return false;
	strbuf_addf(lines, "%s %s\n", ns, address);
	return true;
}

bool egress_report_next_client(struct slice *lines, struct egress_report_client *ret)
{
	while (lines->n != 0) {
		struct slice line = slice_cut(lines, '\n');
		struct egress_report_client parsed = { .ns = slice_cut(&line, ' ') };
		parsed.address = line;
		if (parsed.ns.n == 0 || line.n == 0)
			continue;
		*ret = parsed;
		return true;
	}
	return false;
}
