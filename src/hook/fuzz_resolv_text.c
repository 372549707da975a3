/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Four lines of annotations (policy, profile, libc, config; an empty line: not given), then the file:
 * the new file is a resolver file that stays as it is, or there is a reason. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hook/resolv_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *take_line(struct slice *rest)
{
	struct slice line = slice_cut(rest, '\n');
	return line.n > 0 ? xstrndup(line.p, line.n) : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = { (const char *)data, size };
	CLEANUP(freep) char *policy = take_line(&rest);
	CLEANUP(freep) char *profile = take_line(&rest);
	CLEANUP(freep) char *libc = take_line(&rest);
	CLEANUP(freep) char *config = take_line(&rest);
	struct hook_request request = { .annotation = { config, policy, profile, libc } };
	struct strbuf text = STRBUF_INIT, again = STRBUF_INIT, notes = STRBUF_INIT;
	char why[256] = "";
	int r = hook_resolv_text_make(&request, rest, &text, &notes, ERR_TEXT(why));
	if (r < 0 && why[0] == '\0')
		abort();
	if (r == 0 && (text.n > HOOK_RESOLV_BYTES_MAX ||
		       !hook_resolv_text_is_resolver_file(strbuf_slice(&text))))
		abort();
	if (r == 0 && (hook_resolv_text_make(&request, strbuf_slice(&text), &again, NULL,
					     ERR_TEXT(why)) < 0 ||
		       !slice_eq(strbuf_slice(&text), strbuf_slice(&again))))
		abort();
	strbuf_done(&text);
	strbuf_done(&again);
	strbuf_done(&notes);
	return 0;
}
