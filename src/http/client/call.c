/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the reply of a call. */
#include "http/client/call.h"

#include <assert.h>

struct slice http_call_header(const struct http_call *call, const char *name, size_t nth)
{
	struct slice rest = strbuf_slice(&call->reply_headers), wanted = slice_of(name);
	while (rest.n != 0) {
		struct slice value = slice_cut(&rest, '\n');
		struct slice found = slice_cut(&value, ':');
		if (slice_eq_nocase(found, wanted) && nth-- == 0)
			return value.p != NULL ? value : SLICE("");
	}
	return (struct slice){ 0 };
}

void http_call_release(struct http_call *call)
{
	assert(call->transfer == NULL);
	strbuf_done(&call->reply);
	strbuf_done(&call->reply_headers);
}
