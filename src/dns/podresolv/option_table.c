/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of resolv.conf that C libraries know: resolv.conf(5), and what musl's resolvconf.c
 * reads. */
#include "dns/podresolv/option_table_priv.h"

static const struct podresolv_known_option known[] = {
	/* name                  number  glibc  musl */
	{ "ndots", true, 15, 15 },	   { "timeout", true, 30, 60 },
	{ "attempts", true, 5, 10 },	   { "rotate", false, 0, 0 },
	{ "debug", false, 0, 0 },	   { "edns0", false, 0, 0 },
	{ "single-request", false, 0, 0 }, { "single-request-reopen", false, 0, 0 },
	{ "no-check-names", false, 0, 0 }, { "no-tld-query", false, 0, 0 },
	{ "use-vc", false, 0, 0 },	   { "no-reload", false, 0, 0 },
	{ "trust-ad", false, 0, 0 },	   { "no-aaaa", false, 0, 0 },
};

const struct podresolv_known_option *podresolv_find_option(struct slice name)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (slice_is(name, known[i].name))
			return &known[i];
	}
	return NULL;
}

void podresolv_list_options(struct strbuf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		strbuf_addf(out, "%s\"%s\"", i > 0 ? ", " : "", known[i].name);
}
