/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes are a container's state and configuration (behind the first NUL), or are refused with a
 * reason. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hook/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int r, const char *why)
{
	if (r < 0 && why[0] == '\0')
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = { (const char *)data, size };
	struct slice state = slice_cut(&rest, '\0');
	struct hook_request request;
	char why[256] = "";
	int r = hook_request_read_state(&request, state, ERR_TEXT(why));
	check(r, why);
	if (r == 0 && (hook_request_is_wanted(&request) || hook_request_is_undecided(&request))) {
		if (request.bundle[0] != '/')
			abort();
		r = hook_request_read_config(&request, rest, ERR_TEXT(why));
		if (r == 0)
			r = hook_request_find_source(&request, ERR_TEXT(why));
		check(r, why);
		if (r == 0 && request.source[0] == '\0')
			abort();
	}
	hook_request_done(&request);
	return 0;
}
