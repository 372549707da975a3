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
