/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a URL: what is accepted has a host of plain characters, and means the same when it is
 * written again from its parts. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/client/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(freep) char *text = xstrndup((const char *)data, len);
	struct http_url url, again;
	char err[256];
	if (http_url_parse(text, &url, ERR_TEXT(err)) < 0)
		return 0;
	if (url.host.n == 0 || url.port == 0 || slice_find(url.host, '@') >= 0 ||
	    slice_find(url.host, '/') >= 0 || slice_find(url.host, '\\') >= 0)
		abort();
	CLEANUP(freep)
	char *rebuilt = xasprintf("http%s://%.*s:%u%s", url.tls ? "s" : "", (int)url.host.n,
				  url.host.p, url.port, url.rest.p);
	if (http_url_parse(rebuilt, &again, ERR_TEXT(err)) == 0 &&
	    (!http_url_same_origin(&url, &again) || !slice_eq(url.rest, again.rest)))
		abort();
	return 0;
}
