/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the fields of a policy, from annotations and from entries of the ConfigMap: both are brought
 * into the same text, which one function per field reads. */
#include "controller/poddns/policy.h"
#include "controller/poddns/policy_priv.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/err_text.h"
#include "dns/search_list.h"

void poddns_problems_add(struct poddns_problems *problems, struct arena *arena, const char *field,
			 const char *text)
{
	if (problems->n < PODDNS_PROBLEMS_MAX)
		problems->v[problems->n] = arena_printf(arena, "%s: %s", field, text);
	problems->n++;
}

/* ---- values ---- */

static int read_ndots(const char *text, struct arena *arena, struct poddns_policy *ret,
		      struct err_text err)
{
	size_t digits = strspn(text, "0123456789");
	(void)arena;
	if (digits == 0 || digits > 2 || text[digits] != '\0' ||
	    strtoul(text, NULL, 10) > PODDNS_NDOTS_MAX) {
		err_text_set(err, "expected a number from 0 to %d, got '%.64s'", PODDNS_NDOTS_MAX,
			     text);
		return ERR_PARSE;
	}
	ret->ndots = (unsigned)strtoul(text, NULL, 10);
	return 0;
}

/* The names of a list, as they are written into pods. */
static int read_names(const char *text, struct arena *arena, const char *const **ret,
		      size_t *ret_count, struct err_text err)
{
	struct dns_search_list list;
	int r = dns_search_list_parse(slice_of(text), arena, &list, err);
	if (r < 0)
		return r;
	char *words = arena_strdup(arena, list.text), *rest = words;
	const char **names = arena_alloc(arena, list.n * sizeof(*names));
	for (size_t i = 0; i < list.n; i++)
		names[i] = strsep(&rest, " ");
	*ret = names;
	*ret_count = list.n;
	return 0;
}

/* A name that no API server accepts in a pod is refused here, once, and not with each pod. */
static int check_names(const char *const *names, size_t count, struct arena *arena,
		       struct err_text err)
{
	struct slice *searches = arena_alloc(arena, count * sizeof(*searches));
	struct podresolv_config config = { .searches = searches, .n_searches = count };
	struct podresolv_errors errors = { 0 };
	for (size_t i = 0; i < count; i++)
		searches[i] = slice_of(names[i]);
	podresolv_validate(SLICE("ClusterFirst"), &config, PODRESOLV_KUBELET, arena, &errors);
	if (errors.n == 0)
		return 0;
	err_text_set(err, "%s is not a search domain: %.100s",
		     errors.v[0].value != NULL ? errors.v[0].value : "the list",
		     errors.v[0].detail);
	return ERR_PARSE;
}

static int read_add(const char *text, struct arena *arena, struct poddns_policy *ret,
		    struct err_text err)
{
	int r = read_names(text, arena, &ret->add, &ret->n_add, err);
	return r < 0 ? r : check_names(ret->add, ret->n_add, arena, err);
}

static int read_remove(const char *text, struct arena *arena, struct poddns_policy *ret,
		       struct err_text err)
{
	const char *const *names;
	size_t count;
	int r = read_names(text, arena, &names, &count, err);
	if (r < 0)
		return r;
	const char **kept = arena_alloc(arena, count * sizeof(*kept));
	ret->n_remove = 0;
	ret->remove_node = false;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], "node") == 0)
			ret->remove_node = true;
		else
			kept[ret->n_remove++] = names[i];
	}
	ret->remove = kept;
	return 0;
}

static int read_profile(const char *text, struct arena *arena, struct poddns_policy *ret,
			struct err_text err)
{
	(void)arena;
	if (podresolv_profile_from(slice_of(text), &ret->profile))
		return 0;
	err_text_set(err, "expected seed, kubelet or libc-safe, got '%.64s'", text);
	return ERR_PARSE;
}

static int read_virtual_suffix(const char *text, struct arena *arena, struct poddns_policy *ret,
			       struct err_text err)
{
	(void)arena;
	ret->virtual_suffix = strcmp(text, "true") == 0;
	if (ret->virtual_suffix || strcmp(text, "false") == 0)
		return 0;
	err_text_set(err, "expected true or false, got '%.64s'", text);
	return ERR_PARSE;
}

static const struct field {
	enum poddns_field field;
	const char *annotation, *member; /* of a Namespace, of an entry */
	int (*read)(const char *text, struct arena *arena, struct poddns_policy *ret,
		    struct err_text err);
} fields[] = {
	{ PODDNS_NDOTS, PODDNS_NDOTS_KEY, "ndots", read_ndots },
	{ PODDNS_ADD, PODDNS_ADD_KEY, "addSearches", read_add },
	{ PODDNS_REMOVE, PODDNS_REMOVE_KEY, "removeSearches", read_remove },
	{ PODDNS_PROFILE, PODDNS_PROFILE_KEY, "profile", read_profile },
	{ PODDNS_VIRTUAL_SUFFIX, PODDNS_VIRTUAL_SUFFIX_KEY, "virtualSuffix", read_virtual_suffix },
};

/* Copies one field. */
static void take_field(struct poddns_policy *to, const struct poddns_policy *from,
		       enum poddns_field field)
{
	to->set |= field;
	switch (field) {
	case PODDNS_NDOTS:
		to->ndots = from->ndots;
		break;
	case PODDNS_ADD:
		to->add = from->add;
		to->n_add = from->n_add;
		break;
	case PODDNS_REMOVE:
		to->remove = from->remove;
		to->n_remove = from->n_remove;
		to->remove_node = from->remove_node;
		break;
	case PODDNS_PROFILE:
		to->profile = from->profile;
		break;
	case PODDNS_VIRTUAL_SUFFIX:
		to->virtual_suffix = from->virtual_suffix;
		break;
	}
}

bool poddns_field_is_known(const char *member)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (strcmp(fields[i].member, member) == 0)
			return true;
	}
	return false;
}

/* The text of a member: lists and numbers as an annotation would have them. NULL: of another type. */
static const char *text_of_member(const json_t *value, struct arena *arena)
{
	CLEANUP(strbuf_done) struct strbuf joined = STRBUF_INIT;
	size_t i;
	json_t *item;
	if (json_is_integer(value))
		return arena_printf(arena, "%lld", (long long)json_integer_value(value));
	if (json_is_boolean(value))
		return json_is_true(value) ? "true" : "false";
	if (json_is_string(value))
		return api_text(value);
	if (!json_is_array(value))
		return NULL;
	strbuf_adds(&joined, "");
	json_array_foreach (value, i, item) {
		if (!json_is_string(item) || strpbrk(api_text(item), " ,\t\r\n") != NULL)
			return NULL;
		strbuf_addf(&joined, "%s ", api_text(item));
	}
	return arena_strdup(arena, joined.s);
}

bool poddns_fields_read(const json_t *entry, const char *path, struct arena *arena,
			struct poddns_policy *ret, struct poddns_problems *problems)
{
	bool good = true;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const json_t *value = json_object_get(entry, fields[i].member);
		char err[300] = "expected a text, a number or a list of names";
		if (value == NULL || json_is_null(value))
			continue;
		const char *text = text_of_member(value, arena);
		if (text != NULL && fields[i].read(text, arena, ret, ERR_TEXT(err)) == 0) {
			ret->set |= fields[i].field;
			continue;
		}
		poddns_problems_add(problems, arena,
				    arena_printf(arena, "%s.%s", path, fields[i].member), err);
		good = false;
	}
	return good;
}

/* ---- of a namespace ---- */

/* Returns the fields that annotations decide, valid or not. */
static unsigned read_annotations(const json_t *ns, struct arena *arena, struct poddns_policy *ret,
				 struct poddns_problems *problems)
{
	unsigned decided = 0;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const char *text = api_annotation(ns, fields[i].annotation);
		struct poddns_policy one = { 0 };
		char err[300];
		if (text == NULL)
			continue;
		decided |= fields[i].field;
		if (fields[i].read(text, arena, &one, ERR_TEXT(err)) == 0)
			take_field(ret, &one, fields[i].field);
		else
			poddns_problems_add(problems, arena, fields[i].annotation, err);
	}
	return decided;
}

void poddns_policy_of(const json_t *ns, const struct poddns_entries *entries, struct arena *arena,
		      struct poddns_policy *ret, struct poddns_problems *ret_problems)
{
	*ret = (struct poddns_policy){ .profile = PODRESOLV_KUBELET };
	*ret_problems = (struct poddns_problems){ 0 };
	unsigned decided = read_annotations(ns, arena, ret, ret_problems);
	size_t pos = 0;
	const struct poddns_policy *entry;
	while (entries != NULL && (entry = poddns_entries_next(entries, ns, &pos)) != NULL) {
		for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
			if ((entry->set & fields[i].field & ~decided) != 0)
				take_field(ret, entry, fields[i].field);
		}
		decided |= entry->set;
	}
}
