/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Search lists of pods as text, and the id of a list, by which the plugin `searchpath` finds it in
 * the suffix `ID.search.ZONE`. Pure: no I/O.
 *
 * The id is `l` and the first 15 hexadecimal digits of the SHA-512 of the names, in lower case,
 * without final dots, joined by single spaces: who knows a list knows its id. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"

/* As Kubernetes bounds dnsConfig.searches. */
enum { DNS_SEARCH_LIST_NAMES = 32, DNS_SEARCH_LIST_BYTES = 2048, DNS_SEARCH_LIST_ID = 16 };

struct dns_search_list {
	char id[DNS_SEARCH_LIST_ID + 1];
	size_t n;
	const uint8_t *name[DNS_SEARCH_LIST_NAMES]; /* lower-case wire */
	const char *text;			    /* the names as the id's digest has them */
};

/* Reads names between blanks or commas into *ret; its texts lie in the growing arena. ERR_LIMIT,
 * ERR_PARSE (one of them is no name, or there is none) with a reason. */
MUST_CHECK int dns_search_list_parse(struct slice text, struct arena *arena,
				     struct dns_search_list *ret, struct err_text err);
