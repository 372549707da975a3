/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text is a key or is refused, and a zone that came out goes in again unchanged. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "corefile/key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_zone(struct arena *a, const char *zone)
{
	const char *const *again;
	size_t n;
	struct word w = { .s = zone };
	size_t len = strlen(zone);
	assert(len > 0 && zone[len - 1] == '.');
	if (strstr(zone, "://") != NULL)
		return; /* an unknown scheme is part of the zone; in lower case it may be a known
			   one */
	int r = corefile_zones_expand(a, &w, &again, &n, NULL);
	/* The dot may be one character too many. */
	assert((r == 0 && n == 1 && strcmp(again[0], zone) == 0) || len > 255);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a;
	struct corefile_key key;
	struct srcerr err = { .text = "" };
	char *text = xstrndup((const char *)data, size);
	struct word w = { .s = text };
	arena_init(&a);
	if (corefile_key_parse(&a, &w, &key, &err) == 0) {
		assert(key.n_zones >= 1 && key.n_zones <= 128);
		for (size_t i = 0; i < key.n_zones; i++)
			check_zone(&a, key.zones[i]);
	} else {
		assert(err.text[0] != '\0');
	}
	arena_done(&a);
	free(text);
	return 0;
}
