/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the tree of a DNSRecord to struct dnsrecord, and record sets to status.state and back. */
#include "controller/dnsrecord/plan/record.h"

#include <stdint.h>
#include <string.h>

#include "api/meta.h"
#include "api/record_set.h"
#include "api/tree.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "controller/dnsrecord/plan/names.h"
#include "dns/types.h"

static const struct {
	const char *text;
	uint16_t type;
} types[] = {
	{ "A", DNS_TYPE_A },
	{ "AAAA", DNS_TYPE_AAAA },
	{ "CNAME", DNS_TYPE_CNAME },
	{ "TXT", DNS_TYPE_TXT },
};

/* ---- record sets in status.state ---- */

/* TXT values may have any bytes, JSON has not: those that are not printable ASCII, and \, as \DDD. */
static json_t *value_to_json(const char *value)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	for (const unsigned char *at = (const unsigned char *)value; *at != '\0'; at++) {
		if (*at < ' ' || *at > '~' || *at == '\\')
			strbuf_addf(&out, "\\%03u", (unsigned)*at);
		else
			strbuf_addc(&out, (char)*at);
	}
	return json_string(out.s);
}

static const char *value_from_json(struct arena *arena, const char *text)
{
	char *value = arena_strdup(arena, text), *to = value;
	for (const char *at = text; *at != '\0'; at++) {
		unsigned code = 0;
		if (at[0] == '\\' && ascii_isdigit(at[1]) && ascii_isdigit(at[2]) &&
		    ascii_isdigit(at[3])) {
			code = (unsigned)(at[1] - '0') * 100 + (unsigned)(at[2] - '0') * 10 +
			       (unsigned)(at[3] - '0');
			at += 3;
		}
		*to++ = code != 0 ? (char)code : *at;
	}
	*to = '\0';
	return value;
}

json_t *dnsrecord_set_to_json(const struct dnsrecord_set *set)
{
	if (set == NULL)
		return json_null();
	char type[DNS_MNEMONIC_MAX];
	json_t *values = json_array();
	for (size_t i = 0; i < set->set.n_values; i++)
		json_array_append_new(values, value_to_json(set->set.values[i]));
	json_t *out = json_pack("{s:s, s:s, s:I, s:o}", "name", set->set.name, "recordType",
				dns_type_str(set->set.type, type), "ttl",
				(json_int_t)set->set.ttl_s, "values", values);
	json_object_set_new(out, "zone", set->zone != NULL ? json_string(set->zone) : json_null());
	json_object_set_new(out, "takenOver", set->is_taken_over ? json_true() : json_null());
	return out;
}

static bool read_values(const json_t *list, struct arena *arena, struct provider_rrset *ret)
{
	size_t n = json_array_size(list);
	const char **values = arena_alloc(arena, (n + 1) * sizeof(*values));
	for (size_t i = 0; i < n; i++) {
		const json_t *value = json_array_get(list, i);
		if (!json_is_string(value))
			return false;
		values[i] = value_from_json(arena, api_text(value));
	}
	ret->values = values;
	ret->n_values = provider_values_sort(values, n);
	return n != 0;
}

/* NULL: there is none, or it is not one of ours. */
static const struct dnsrecord_set *read_set(const json_t *object, const char *path,
					    struct arena *arena)
{
	const json_t *tree = api_get(object, path);
	const char *name = api_get_string(tree, "name"), *zone = api_get_string(tree, "zone");
	const char *type = api_get_string(tree, "recordType");
	json_int_t ttl = json_integer_value(json_object_get(tree, "ttl"));
	struct dnsrecord_set *set = arena_calloc(arena, sizeof(*set));
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (strcmp(types[i].text, type) == 0)
			set->set.type = types[i].type;
	}
	if (name[0] == '\0' || set->set.type == 0 || ttl < 0 || ttl > INT32_MAX ||
	    !read_values(json_object_get(tree, "values"), arena, &set->set))
		return NULL;
	set->zone = zone[0] != '\0' ? zone : NULL;
	set->is_taken_over = json_is_true(json_object_get(tree, "takenOver"));
	set->set.name = name;
	set->set.ttl_s = (uint32_t)ttl;
	return set;
}

/* ---- the spec ---- */

static const char *errors_text(const struct api_errors *errors, struct arena *arena)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	for (size_t i = 0; i < errors->n; i++)
		strbuf_addf(&out, "%s%s: %s", i != 0 ? "; " : "", errors->v[i].field,
			    errors->v[i].body);
	return arena_strdup(arena, out.s);
}

/* Region and zone may be left out, but not be empty (DR-7). */
static void check_empty(const json_t *object, struct api_errors *errors)
{
	static const char *const paths[] = { "spec.region", "spec.zone" };
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		const json_t *value = api_get(object, paths[i]);
		if (json_is_string(value) && api_text(value)[0] == '\0')
			api_errors_add(errors, API_FIELD_INVALID, paths[i], "\"\"",
				       "must not be empty; leave it out instead");
	}
}

static void read_spec(struct dnsrecord *record, struct arena *arena)
{
	CLEANUP(api_errors_done) struct api_errors errors = { 0 };
	struct api_record_set set;
	bool is_read = api_view_fill(&api_dnsrecord_view, record->object, arena, &record->spec,
				     &errors) == 0;
	check_empty(record->object, &errors);
	if (is_read && errors.n == 0 &&
	    api_record_set_make(&record->spec, arena, &set, &errors) == 0)
		record->wanted.set = (struct provider_rrset){ .name = set.name,
							      .type = set.type,
							      .ttl_s = set.ttl_s,
							      .values = set.values.v,
							      .n_values = set.values.n };
	else
		record->problem = errors_text(&errors, arena);
}

/* The spec's, then that of before as long as the name is the same, else it is searched (DR-14). */
static const char *choose_zone(const struct dnsrecord *record)
{
	const struct dnsrecord_set *before = record->applied;
	if (record->spec.zone[0] != '\0')
		return record->spec.zone;
	if (before != NULL)
		return strcmp(before->set.name, record->wanted.set.name) == 0 ? before->zone : NULL;
	return record->spec.status_zone[0] != '\0' ? record->spec.status_zone : NULL;
}

/* An object that another controller brought to the provider: it has the zone in its status and was
 * created (DR-21). */
static void take_over(struct dnsrecord *record, struct arena *arena)
{
	const char *zone = record->spec.status_zone;
	const struct api_dnsrecord_condition *conditions = record->spec.conditions.v;
	bool is_done = strcmp(record->spec.operation_state, "Succeeded") == 0;
	bool is_gone = is_done && strcmp(record->spec.operation_type, "Delete") == 0;
	bool is_created = is_done;
	for (size_t i = 0; i < record->spec.conditions.n; i++)
		is_created = is_created || (strcmp(conditions[i].type, "Created") == 0 &&
					    strcmp(conditions[i].status, "True") == 0);
	if (zone[0] == '\0' || !is_created || is_gone || record->problem != NULL)
		return;
	struct dnsrecord_set *set = arena_calloc(arena, sizeof(*set));
	*set = (struct dnsrecord_set){ zone, record->wanted.set, true };
	record->applied = set;
}

static bool has_mark(const json_t *object, const char *annotation)
{
	const char *text = api_annotation(object, annotation);
	return text != NULL && strcmp(text, "true") == 0;
}

void dnsrecord_read(const json_t *object, struct arena *arena, struct dnsrecord *ret)
{
	const char *request = api_annotation(object, DNSRECORD_OPERATION);
	*ret = (struct dnsrecord){
		.object = object,
		.attempt = read_set(object, "status.state.attempt", arena),
		.applied = read_set(object, "status.state.applied", arena),
		.leftover = read_set(object, "status.state.leftover", arena),
		.request = request != NULL ? request : "",
		.owner = arena_printf(arena, "fairlead/%s", api_uid(object)),
		.held_secret = api_get_string(object, "status.state.secret"),
		.adopts = has_mark(object, DNSRECORD_ADOPT),
		.is_dry_run = has_mark(object, DNSRECORD_DRY_RUN),
		.skips_probe = has_mark(object, DNSRECORD_NO_PROBE),
		.is_orphan = has_mark(object, DNSRECORD_ORPHAN),
	};
	read_spec(ret, arena);
	ret->is_zone_given = ret->spec.zone[0] != '\0';
	if (ret->applied == NULL && ret->attempt == NULL)
		take_over(ret, arena);
	if (ret->problem == NULL)
		ret->wanted.zone = choose_zone(ret);
}

/* ---- comparisons ---- */

bool dnsrecord_is_same_place(const struct dnsrecord_set *left, const struct dnsrecord_set *right)
{
	bool is_same_zone =
		left->zone == NULL || right->zone == NULL || strcmp(left->zone, right->zone) == 0;
	return is_same_zone && left->set.type == right->set.type &&
	       strcmp(left->set.name, right->set.name) == 0;
}

bool dnsrecord_is_same_set(const struct dnsrecord_set *left, const struct dnsrecord_set *right)
{
	return dnsrecord_is_same_place(left, right) &&
	       provider_rrset_equal(&left->set, &right->set);
}
