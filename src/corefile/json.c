/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tokens of a Corefile in the JSON that CoreDNS hashes to see a change. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "corefile/corefile.h"

static const struct escape {
	const char *raw;
	const char *escaped;
} escapes[] = {
	{ "\"", "\\\"" },
	{ "\\", "\\\\" },
	{ "\b", "\\b" },
	{ "\f", "\\f" },
	{ "\n", "\\n" },
	{ "\r", "\\r" },
	{ "\t", "\\t" },
	{ "<", "\\u003c" },
	{ ">", "\\u003e" },
	{ "&", "\\u0026" },
	{ "\xe2\x80\xa8", "\\u2028" },
	{ "\xe2\x80\xa9", "\\u2029" },
};

static const struct escape *find_escape(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
		if (strncmp(text, escapes[i].raw, strlen(escapes[i].raw)) == 0)
			return &escapes[i];
	}
	return NULL;
}

/* All text here is valid UTF-8 already. */
static void add_string(struct strbuf *out, const char *text)
{
	strbuf_addc(out, '"');
	while (*text != '\0') {
		const struct escape *e = find_escape(text);
		if (e != NULL) {
			strbuf_adds(out, e->escaped);
			text += strlen(e->raw);
			continue;
		}
		if ((unsigned char)*text < ' ')
			strbuf_addf(out, "\\u%04x", (unsigned)*text);
		else
			strbuf_addc(out, *text);
		text++;
	}
	strbuf_addc(out, '"');
}

static int by_directive(const void *pa, const void *pb)
{
	const struct corefile_token *a = *(const struct corefile_token *const *)pa;
	const struct corefile_token *b = *(const struct corefile_token *const *)pb;
	int c = strcmp(a->dir, b->dir);
	return c != 0 ? c : (a > b) - (a < b);
}

static void add_tokens(struct strbuf *out, const struct corefile_block *block)
{
	const struct corefile_token **t = xcalloc(block->n_token + 1, sizeof(*t));
	for (size_t i = 0; i < block->n_token; i++)
		t[i] = &block->token[i];
	qsort(t, block->n_token, sizeof(*t), by_directive);
	for (size_t i = 0; i < block->n_token; i++) {
		bool first = i == 0 || strcmp(t[i]->dir, t[i - 1]->dir) != 0;
		if (first) {
			strbuf_adds(out, i == 0 ? "" : "],");
			add_string(out, t[i]->dir);
		}
		strbuf_adds(out, first ? ":[{\"File\":" : ",{\"File\":");
		add_string(out, t[i]->file);
		strbuf_addf(out, ",\"Line\":%u,\"Text\":", t[i]->line);
		add_string(out, t[i]->text);
		strbuf_addc(out, '}');
	}
	strbuf_adds(out, block->n_token > 0 ? "]" : "");
	free(t);
}

void corefile_json(const struct corefile *cf, struct strbuf *out)
{
	if (cf->n_block == 0) {
		strbuf_adds(out, "null");
		return;
	}
	for (size_t i = 0; i < cf->n_block; i++) {
		const struct corefile_block *b = &cf->block[i];
		strbuf_adds(out, i == 0 ? "[{\"Keys\":" : ",{\"Keys\":");
		for (size_t k = 0; k < b->n_key; k++) {
			strbuf_addc(out, k == 0 ? '[' : ',');
			add_string(out, b->key[k].s);
		}
		strbuf_adds(out, "],\"Tokens\":{");
		add_tokens(out, b);
		strbuf_adds(out, "}}");
	}
	strbuf_addc(out, ']');
}
