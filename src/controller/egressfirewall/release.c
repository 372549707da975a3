/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts nodes that have let go of a name under its present mark. */
#include "controller/egressfirewall/release.h"

#include <stdio.h>
#include <string.h>

#include "api/egress/name.h"
#include "api/egress/node_report.h"

void release_votes_init(struct release_votes *votes)
{
	votes->nodes = 0;
	map_init(&votes->agreed);
}

void release_votes_done(struct release_votes *votes)
{
	map_done(&votes->agreed);
}

static size_t count_of(const struct release_votes *votes, struct slice line)
{
	return (size_t)(uintptr_t)map_get(&votes->agreed, line);
}

void release_votes_add(struct release_votes *votes, struct slice lines)
{
	struct slice line, last = SLICE("");
	votes->nodes++;
	for (; (line = egress_report_next_released(&lines)).n != 0; last = line) {
		if (!slice_eq(line, last)) /* lines are sorted, and a node counts once */
			map_set(&votes->agreed, line,
				(void *)(uintptr_t)(count_of(votes, line) + 1));
	}
}

static bool is_agreed(const struct release_votes *votes, const char *name, const char *mark)
{
	char line[EGRESS_NAME_MAX + 1 + EGRESS_UNUSED_TEXT_MAX];
	snprintf(line, sizeof(line), "%s %s", name, mark);
	return count_of(votes, slice_of(line)) >= votes->nodes;
}

void release_decide(const struct release_votes *votes, const struct release_case *now,
		    struct release_verdict *ret)
{
	struct egress_unused unused = { now->now_ns, now->claimed & ~now->used }, marked;
	*ret = (struct release_verdict){ 0 };
	if (unused.uses == 0 || votes->nodes == 0)
		return;
	/* One for other uses, or from the future (a clock was set back), is replaced. */
	bool is_marked = egress_unused_parse(now->mark, &marked) == 0 &&
			 marked.uses == unused.uses && marked.since_ns <= now->now_ns;
	if (is_marked)
		unused = marked;
	uint64_t end_ns = unused.since_ns + RELEASE_WAIT_NS;
	if (is_marked && is_agreed(votes, now->name, now->mark))
		return;
	if (now->now_ns >= end_ns) {
		ret->is_late = true;
		return;
	}
	ret->kept = unused.uses;
	ret->again_ns = end_ns - now->now_ns;
	if (is_marked)
		snprintf(ret->mark, sizeof(ret->mark), "%s", now->mark);
	else
		egress_unused_format(&unused, ret->mark);
}
