/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as a search list; what is accepted is accepted again, with the same id, from its own
 * names. */
#include "dns/search_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "dns/name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(strbuf_done) struct strbuf again = STRBUF_INIT;
	char err[512], text[DNS_NAME_TEXT_MAX];
	struct dns_search_list list, second;
	struct arena arena;
	arena_init(&arena);
	int r = dns_search_list_parse((struct slice){ (const char *)data, len }, &arena, &list,
				      ERR_TEXT(err));
	for (size_t i = 0; r == 0 && i < list.n; i++) {
		dns_name_to_text(list.name[i], false, text);
		strbuf_addf(&again, "%s ", text);
	}
	/* Escapes make a text longer. */
	if (r == 0 && again.n <= DNS_SEARCH_LIST_BYTES &&
	    (dns_search_list_parse(strbuf_slice(&again), &arena, &second, ERR_TEXT(err)) < 0 ||
	     strcmp(list.id, second.id) != 0 || strcmp(list.text, second.text) != 0))
		abort();
	arena_done(&arena);
	return 0;
}
