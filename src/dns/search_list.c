/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses search lists and computes their ids. */
#include "dns/search_list.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto/digest.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "dns/name.h"

static void set_id(struct dns_search_list *list, struct slice canonical)
{
	uint8_t digest[DIGEST_SHA512_BYTES];
	digest_sha512(canonical.p, canonical.n, digest);
	list->id[0] = 'l';
	for (size_t i = 1; i < DNS_SEARCH_LIST_ID; i += 2)
		snprintf(list->id + i, sizeof(list->id) - i, "%02x", digest[i / 2]);
	list->id[DNS_SEARCH_LIST_ID] = '\0';
}

static bool is_blank(char ch)
{
	return ch == ' ' || ch == ',' || ch == '\t' || ch == '\n' || ch == '\r';
}

/* Cuts the next name off the text; an empty one ends it. */
static struct slice next_word(struct slice *text)
{
	size_t start = 0, end;
	while (start < text->n && is_blank(text->p[start]))
		start++;
	for (end = start; end < text->n && !is_blank(text->p[end]); end++) {
	}
	struct slice word = { text->p + start, end - start };
	*text = (struct slice){ text->p + end, text->n - end };
	return word;
}

static bool add_name(struct dns_search_list *list, struct slice word, struct arena *arena,
		     struct strbuf *canonical)
{
	uint8_t name[DNS_NAME_MAX];
	char text[DNS_NAME_TEXT_MAX];
	int n = dns_name_from_text(word, name);
	/* The root is walked anyway, last. */
	if (n < 2)
		return false;
	dns_name_lower(name, name);
	dns_name_to_text(name, false, text);
	/* Names are written without an escape for commas, which end a name in a list. */
	if (strchr(text, ',') != NULL)
		return false;
	assert(list->n < DNS_SEARCH_LIST_NAMES);
	list->name[list->n++] = arena_memdup(arena, name, (size_t)n);
	text[strlen(text) - 1] = '\0';
	strbuf_addf(canonical, "%s%s", canonical->n != 0 ? " " : "", text);
	return true;
}

int dns_search_list_parse(struct slice text, struct arena *arena, struct dns_search_list *ret,
			  struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf canonical = STRBUF_INIT;
	struct dns_search_list list = { .n = 0 };
	struct slice word;
	if (text.n > DNS_SEARCH_LIST_BYTES) {
		err_text_set(err, "longer than %d bytes", DNS_SEARCH_LIST_BYTES);
		return ERR_LIMIT;
	}
	while ((word = next_word(&text)).n != 0) {
		if (list.n == DNS_SEARCH_LIST_NAMES) {
			err_text_set(err, "more than %d names", DNS_SEARCH_LIST_NAMES);
			return ERR_LIMIT;
		}
		if (!add_name(&list, word, arena, &canonical)) {
			err_text_set(err, "'%.*s' is not a domain name", (int)word.n, word.p);
			return ERR_PARSE;
		}
	}
	if (list.n == 0) {
		err_text_set(err, "empty");
		return ERR_PARSE;
	}
	list.text = arena_strndup(arena, canonical.s, canonical.n);
	set_id(&list, strbuf_slice(&canonical));
	*ret = list;
	return 0;
}
