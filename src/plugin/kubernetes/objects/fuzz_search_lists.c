/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as a search list; what is taken is taken again, with the same id, from its own names. */
#include "plugin/kubernetes/objects/search_lists.h"
#include "plugin/kubernetes/objects/search_lists.h"
#include "plugin/kubernetes/objects/search_lists_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/err_text.h"
#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(strbuf_done) struct strbuf again = STRBUF_INIT;
	char err[512], text[DNS_NAME_TEXT_MAX];
	struct slice ns = slice_of("ns");
	struct kubernetes_search_list *l = kubernetes_search_list_parse(
		ns, (struct slice){ (const char *)data, n }, ERR_TEXT(err));
	if (l == NULL)
		return 0;
	for (size_t i = 0; i < l->n; i++) {
		dns_name_to_text(l->name[i], false, text);
		strbuf_addf(&again, "%s ", text);
	}
	/* Escapes make a text longer. */
	struct kubernetes_search_list *m =
		kubernetes_search_list_parse(ns, strbuf_slice(&again), ERR_TEXT(err));
	if (again.n <= KUBERNETES_SEARCH_LIST_BYTES && (m == NULL || strcmp(l->id, m->id) != 0))
		abort();
	kubernetes_search_list_free(l);
	kubernetes_search_list_free(m);
	return 0;
}
