/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading PowerDNS's replies. */
#include "provider/powerdns/reply_priv.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "api/tree.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "dns/types.h"
#include "provider/powerdns/content_priv.h"
#include "provider/shared/reply_text.h"

/* NULL: there is none. */
static const char *text_of(const json_t *object, const char *member)
{
	return api_text_or(json_object_get(object, member), NULL);
}

/* Lower case, without the final dot. */
static char *read_name(const char *text)
{
	size_t n = strlen(text);
	if (n != 0 && text[n - 1] == '.')
		n--;
	char *name = xstrndup(text, n);
	for (size_t i = 0; i < n; i++)
		name[i] = ascii_lower(name[i]);
	return name;
}

/* ---- record sets ---- */

/* Their texts are in the arena, which lives as long as the row. */
static int read_values(const json_t *records, uint16_t type, struct arena *arena,
		       struct provider_rrset *set)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
	size_t i;
	const json_t *record;
	if (!json_is_array(records))
		return ERR_PARSE;
	if (json_array_size(records) > POWERDNS_VALUES_MAX)
		return ERR_LIMIT;
	const char **values = arena_calloc(arena, (json_array_size(records) + 1) * sizeof(*values));
	json_array_foreach (records, i, record) {
		const json_t *content = json_object_get(record, "content");
		if (!json_is_string(content))
			return ERR_PARSE;
		struct slice text = api_text_slice(content);
		strbuf_reset(&value);
		/* Neither may equal a value of ours. */
		bool is_disabled = json_is_true(json_object_get(record, "disabled"));
		bool has_nul = slice_find(text, '\0') >= 0;
		if (is_disabled || has_nul) {
			strbuf_adds(&value, is_disabled ? "disabled " : "cut at NUL: ");
			strbuf_add_slice(&value, text);
		} else {
			powerdns_content_read(&value, type, text);
		}
		values[i] = arena_strndup(arena, value.s, value.n);
	}
	set->values = values;
	set->n_values = provider_values_sort(values, json_array_size(records));
	return 0;
}

static const char *find_mark(const json_t *comments)
{
	size_t i;
	const json_t *comment;
	json_array_foreach (comments, i, comment) {
		const char *account = text_of(comment, "account");
		if (account != NULL && strcmp(account, POWERDNS_MARK_ACCOUNT) == 0)
			return text_of(comment, "content");
	}
	return NULL;
}

static uint32_t read_number(const json_t *tree, const char *member)
{
	json_int_t number = json_integer_value(json_object_get(tree, member));
	return number >= 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
}

int powerdns_reply_rrset(struct slice json, struct provider_rrset **ret)
{
	CLEANUP(json_decrefp) json_t *tree = provider_reply_json(json);
	CLEANUP(arena_done) struct arena arena;
	const char *name = text_of(tree, "name"), *type_text = text_of(tree, "type");
	arena_init(&arena);
	if (name == NULL || type_text == NULL)
		return ERR_PARSE;
	int type = dns_type_parse(slice_of(type_text), true);
	struct provider_rrset set = { .type = type > 0 ? (uint16_t)type : 0,
				      .ttl_s = read_number(tree, "ttl"),
				      .owner = find_mark(json_object_get(tree, "comments")) };
	int r = read_values(json_object_get(tree, "records"), set.type, &arena, &set);
	if (r < 0)
		return r;
	CLEANUP(freep) char *plain = read_name(name);
	set.name = plain;
	struct provider_rrset *copy = xmalloc(sizeof(*copy) + provider_rrset_bytes(&set));
	provider_rrset_copy(copy, &set, (char *)(copy + 1));
	*ret = copy;
	return 0;
}

/* ---- zones and errors ---- */

int powerdns_reply_zone(struct slice json, struct powerdns_zone *ret)
{
	CLEANUP(json_decrefp) json_t *tree = provider_reply_json(json);
	const char *zone_id = text_of(tree, "id"), *name = text_of(tree, "name");
	if (zone_id == NULL || name == NULL || zone_id[0] == '\0')
		return ERR_PARSE;
	*ret = (struct powerdns_zone){ .id = xstrdup(zone_id),
				       .name = xstrdup(name),
				       .serial = read_number(tree, "serial") };
	return 0;
}

void powerdns_zone_done(struct powerdns_zone *zone)
{
	free(TAKE_PTR(zone->id));
	free(TAKE_PTR(zone->name));
}

void powerdns_reply_error(struct slice body, struct err_text out)
{
	static const char *const others[] = { "errors", NULL };
	static const struct provider_reply_form form = { .message = "error", .others = others };
	provider_reply_message(body, &form, out);
}
