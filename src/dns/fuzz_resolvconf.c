/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text is a resolv.conf or beyond a limit; its words are words and its numbers in range. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "dns/resolvconf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(const char **v, size_t n)
{
	if (n > DNS_RESOLVCONF_WORDS_MAX)
		abort();
	for (size_t i = 0; i < n; i++) {
		for (const char *p = v[i]; *p != '\0'; p++) {
			if (ascii_isspace(*p))
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a;
	struct dns_resolvconf c;
	arena_init(&a);
	if (dns_resolvconf_parse((struct slice){ (const char *)data, size }, &a, &c) == 0) {
		check_words(c.nameserver, c.n_nameserver);
		check_words(c.search, c.n_search);
		if (c.ndots > DNS_RESOLVCONF_NDOTS_MAX || c.timeout_s < 1 || c.attempts < 1)
			abort();
	}
	arena_done(&a);
	return 0;
}
