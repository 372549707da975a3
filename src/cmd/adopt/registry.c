/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names and values of external-dns's TXT records. */
#include "cmd/adopt/registry.h"

#include <string.h>

#include "base/strbuf.h"

#define TYPE_WORD "%{record_type}"

static void add_lower(struct strbuf *out, const char *text)
{
	for (; *text != '\0'; text++)
		strbuf_addc(out, ascii_lower(*text));
}

/* The flag's value, with the type where it asks for it. */
static void add_affix(struct strbuf *out, const char *affix, const char *record_type)
{
	const char *at = strstr(affix, TYPE_WORD);
	size_t before = at != NULL ? (size_t)(at - affix) : strlen(affix);
	for (size_t i = 0; i < before; i++)
		strbuf_addc(out, ascii_lower(affix[i]));
	if (at == NULL)
		return;
	add_lower(out, record_type);
	add_lower(out, at + strlen(TYPE_WORD));
}

bool adopt_registry_name(const struct adopt_affixes *affixes, const char *name,
			 const char *record_type, char out[ADOPT_NAME_MAX])
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct slice rest = slice_of(name), label = slice_cut(&rest, '.');
	bool has_type = strstr(affixes->prefix, TYPE_WORD) != NULL ||
			strstr(affixes->suffix, TYPE_WORD) != NULL;
	const char *type = record_type != NULL ? record_type : "";
	add_affix(&text, affixes->prefix, type);
	if (record_type != NULL && !has_type) {
		add_lower(&text, record_type);
		strbuf_addc(&text, '-');
	}
	strbuf_add_slice(&text, label);
	add_affix(&text, affixes->suffix, type);
	if (rest.p != NULL) {
		strbuf_addc(&text, '.');
		strbuf_add_slice(&text, rest);
	}
	if (text.n >= ADOPT_NAME_MAX)
		return false;
	memcpy(out, text.s, text.n + 1);
	return true;
}

/* Some providers keep the quotes that external-dns sends. */
static struct slice strip_quotes(struct slice text)
{
	if (slice_starts(text, SLICE("\"")))
		text = slice_from(text, 1);
	if (slice_ends(text, SLICE("\"")))
		text.n--;
	return text;
}

bool adopt_registry_read(const char *value, struct adopt_registration *ret)
{
	struct slice rest = strip_quotes(slice_of(value));
	*ret = (struct adopt_registration){ 0 };
	if (!slice_is(slice_cut(&rest, ','), "heritage=external-dns"))
		return false;
	while (rest.n != 0) {
		struct slice text = slice_cut(&rest, ','), key = slice_cut(&text, '=');
		if (slice_is(key, "external-dns/owner"))
			ret->owner = text;
		else if (slice_is(key, "external-dns/resource"))
			ret->resource = text;
	}
	return true;
}
