/* Where a Corefile comes from, as the server and plugin/reload see it. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"

struct confsrc {
	void *ctx;
	const char *name;     /* shown in error positions */
	const char *fallback; /* text taken at a start when there is no server block; may be NULL */
	/* The whole text now; 0, or -errno with a text in `why`. */
	int (*load)(void *ctx, struct strbuf *out, char *why, size_t why_n);
};
