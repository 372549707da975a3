/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text is a host file or an error. A pod that takes the host's settings gets a file that reads
 * as the same settings (PD-M6). */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "dns/podresolv/podresolv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Renders what a pod of policy Default gets on a host with this file; false: the file is broken. */
static bool render_default(struct slice text, bool use_domain, struct arena *arena,
			   struct strbuf *out)
{
	struct podresolv_config host;
	struct podresolv_result result;
	struct podresolv_finding finding;
	struct podresolv_input input = { .policy = PODRESOLV_DEFAULT, .host = &host };
	const struct err_text nowhere = { NULL, 0 };
	if (podresolv_parse_host(text, use_domain, arena, &host, nowhere) < 0)
		return false;
	podresolv_check_host(&host, SLICE("z"), "x", arena, &finding);
	if (podresolv_compute(&input, arena, &result, nowhere) < 0)
		abort();
	podresolv_render(&result, out);
	return true;
}

/* "." is dropped when the file is read again. */
static bool has_root(struct slice text)
{
	return memmem(text.p, text.n, " .\n", 3) != NULL ||
	       memmem(text.p, text.n, " . ", 3) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
	struct slice text = { (const char *)data, size };
	struct arena arena;
	arena_init(&arena);
	if (render_default(text, size % 2 == 0, &arena, &first)) {
		if (!render_default(strbuf_slice(&first), false, &arena, &second))
			abort();
		if (!has_root(strbuf_slice(&first)) &&
		    !slice_eq(strbuf_slice(&first), strbuf_slice(&second)))
			abort();
	}
	arena_done(&arena);
	return 0;
}
