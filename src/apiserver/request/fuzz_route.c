/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as a path. */
#include "apiserver/request/route.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(freep) char *text = xstrndup((const char *)data, n);
	struct apiserver_route r;
	if (apiserver_route_parse(text, &r)) {
		/* The parts are of the path; where it leads to a kind, none is empty. */
		assert(strstr(text, r.plural) != NULL);
		if (r.resource == NULL)
			return 0;
		assert(r.plural[0] != '\0' && strstr(text, r.plural) != NULL);
		assert(r.name == NULL || (r.name[0] != '\0' && strstr(text, r.name) != NULL));
		assert(strstr(text, r.subresource) != NULL && strstr(text, r.below) != NULL);
		assert(strchr(r.subresource, '/') == NULL);
	}
	return 0;
}
