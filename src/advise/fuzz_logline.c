/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as lines of a log: what is read lies inside the line or the scratch text, and advice on
 * it comes to an end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advice.h"
#include "advise/logline.h"
#include "advise/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(struct slice text, struct advise_trace *trace)
{
	CLEANUP(strbuf_done) struct strbuf scratch = STRBUF_INIT;
	struct advise_line line;
	struct slice client;
	if (advise_line_parse(text, &scratch, &line) < 0) {
		if (!advise_line_is_cut(text, &scratch, &client))
			return;
		if (client.n == 0)
			abort();
		advise_trace_add_cut(trace, client);
		return;
	}
	const struct slice parts[] = { line.client, line.name, line.ns };
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		struct slice from = scratch.n > 0 ? strbuf_slice(&scratch) : text;
		if (parts[i].n > 0 &&
		    (parts[i].p < from.p || parts[i].p + parts[i].n > from.p + from.n))
			abort();
	}
	if (line.client.n == 0 || memchr(line.name.p, '\n', line.name.n) != NULL)
		abort();
	advise_trace_add(trace, &line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct advise_trace trace;
	struct advise_advice advice;
	struct advise_input input = { 0 };
	struct advise_options options = { .zone = SLICE("z"),
					  .ndots = ADVISE_NDOTS_DEFAULT,
					  .libcs = 1U << ADVISE_GLIBC | 1U << ADVISE_MUSL };
	struct slice rest = { (const char *)data, size };
	advise_trace_init(&trace);
	trace.names_max = 64;
	trace.clients_max = 8;
	while (rest.n > 0)
		check_line(slice_cut(&rest, '\n'), &trace);
	advise_advice_init(&advice, &trace, &options);
	if (!advise_report_is_proven(&advice))
		abort();
	struct advise_report report = { .advice = &advice, .input = &input, .has_replay = true };
	advise_report_table(&report, &out);
	advise_report_json(&report, &out);
	advise_advice_done(&advice);
	advise_trace_done(&trace);
	return 0;
}
