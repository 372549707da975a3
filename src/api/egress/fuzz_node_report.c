/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as lines and problems of a node's report: what was read is written as it was. */
#include <string.h>

#include "api/egress/node_report.h"
#include "base/compiler.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_problem(const struct egress_report_problem *problem)
{
	CLEANUP(strbuf_done) struct strbuf again = STRBUF_INIT;
	CLEANUP(freep) char *ns = xstrndup(problem->ns.p, problem->ns.n);
	CLEANUP(freep) char *reason = xstrndup(problem->reason.p, problem->reason.n);
	CLEANUP(freep) char *message = xstrndup(problem->message.p, problem->message.n);
	struct egress_report_problem read;
	if (!egress_report_add_problem(&again, ns, reason, message))
		return;
	struct slice rest = strbuf_slice(&again);
	/* Names with a NUL byte end there. */
	if (egress_report_next_problem(&rest, &read) && !slice_eq(read.message, problem->message))
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct slice lines = { (const char *)data, len }, problems = lines, clients = lines;
	struct slice released = lines, name;
	struct egress_report_client client;
	struct egress_report_line line;
	struct egress_report_problem problem;
	while (egress_report_next_line(&lines, &line)) {
		if (line.ns.n == 0 || line.generation < 0)
			__builtin_trap();
	}
	while (egress_report_next_client(&clients, &client)) {
		if (client.ns.n == 0 || client.address.n == 0)
			__builtin_trap();
	}
	while (egress_report_next_problem(&problems, &problem))
		check_problem(&problem);
	while ((name = egress_report_next_released(&released)).n != 0) {
		if (memchr(name.p, '\n', name.n) != NULL)
			__builtin_trap();
	}
	return 0;
}
