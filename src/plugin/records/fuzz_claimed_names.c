/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any order of changes: four bytes are one (object, name, what of it, age). After each, every name gets what
 * a plain search of all objects by the rules of RFC 4592 finds. */
#include "plugin/records/claimed_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "dns/types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OBJECTS = 6, CHANGES_MAX = 64, REMOVED = 3 };

static const char *const names[] = { "e.c", "a.e.c", "b.a.e.c", "c.b.a.e.c", "x.f.c" };
enum { NAMES = ARRAY_LEN(names) };

struct object {
	bool is_there, is_wild, is_alias;
	unsigned name, created_s, value;
};

static void apply_object(struct records_claims *claims, unsigned index, const struct object *object)
{
	char key[8], text[400];
	snprintf(key, sizeof(key), "n/%u", index);
	if (!object->is_there) {
		records_claims_remove(claims, key);
		return;
	}
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"uid\":\"%u\",\"creationTimestamp\":\"2026-11-17T00:00:%02uZ\"},"
		 "\"spec\":{\"type\":\"local\",\"name\":\"%s%s\",\"recordType\":\"%s\","
		 "\"secretRef\":{\"name\":\"s\"},\"values\":[\"%s%u\"]}}",
		 index, object->created_s, object->is_wild ? "*." : "", names[object->name],
		 object->is_alias ? "CNAME" : "A", object->is_alias ? "t.t" : "192.0.2.",
		 object->value);
	json_t *tree = json_loads(text, 0, NULL);
	records_claims_set(claims, key, tree);
	json_decref(tree);
}

/* At or below. */
static bool ends_with(const char *name, const char *parent)
{
	size_t n = strlen(name), parent_n = strlen(parent);
	return n >= parent_n && strcmp(name + n - parent_n, parent) == 0 &&
	       (n == parent_n || name[n - parent_n - 1] == '.');
}

static bool exists(const struct object *objects, const char *name)
{
	for (unsigned i = 0; i < OBJECTS; i++) {
		if (objects[i].is_there && ends_with(names[objects[i].name], name))
			return true;
	}
	return false;
}

/* The oldest of a name: both types stand back before it. */
static const struct object *find_oldest(const struct object *objects, const char *name,
					bool is_wild)
{
	const struct object *oldest = NULL;
	for (unsigned i = 0; i < OBJECTS; i++) {
		const struct object *o = &objects[i];
		if (o->is_there && o->is_wild == is_wild && strcmp(names[o->name], name) == 0 &&
		    (oldest == NULL || o->created_s < oldest->created_s))
			oldest = o;
	}
	return oldest;
}

static const struct object *find_expected(const struct object *objects, const char *name)
{
	if (exists(objects, name))
		return find_oldest(objects, name, false);
	const char *parent = name;
	do {
		parent = strchr(parent, '.') + 1;
		if (strchr(parent, '.') == NULL)
			return NULL;
	} while (!exists(objects, parent));
	return find_oldest(objects, parent, true);
}

static void check_name(const struct records_claims *claims, const struct object *objects,
		       const char *name)
{
	const struct object *want = find_expected(objects, name);
	uint8_t wire[DNS_NAME_MAX];
	struct dns_qname qname;
	struct records_hit hit;
	if (dns_name_from_text(slice_of(name), wire) < 0)
		abort();
	dns_qname_set(&qname, wire);
	bool found = records_table_find(records_claims_table(claims), &qname, &hit);
	if (found != (want != NULL))
		abort();
	if (!found)
		return;
	const struct records_set *set = &hit.sets->v[0];
	if (hit.sets->n != 1 || set->type != (want->is_alias ? DNS_TYPE_CNAME : DNS_TYPE_A) ||
	    (!want->is_alias && set->data[set->data_n - 1] != want->value))
		abort();
}

static void check_names(const struct records_claims *claims, const struct object *objects)
{
	static const char *const others[] = { "z.e.c", "z.z.a.e.c", "z.b.a.e.c",
					      "f.c",   "z.f.c",	    "z.z.x.f.c" };
	for (unsigned i = 0; i < NAMES; i++)
		check_name(claims, objects, names[i]);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		check_name(claims, objects, others[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct object objects[OBJECTS] = { 0 };
	struct records_claims *claims = records_claims_new(OBJECTS);
	log_set_fd(-1); /* rivals are logged */
	for (size_t at = 0; at + 4 <= size && at < 4 * CHANGES_MAX; at += 4) {
		unsigned index = data[at] % OBJECTS, what = data[at + 2];
		objects[index] = (struct object){ .is_there = what % 4 != REMOVED,
						  .is_wild = (what & 4) != 0,
						  .is_alias = (what & 8) != 0,
						  .name = data[at + 1] % NAMES,
						  /* no two are of one age */
						  .created_s = data[at + 3] % 8 * OBJECTS + index,
						  .value = data[at + 3] };
		apply_object(claims, index, &objects[index]);
		check_names(claims, objects);
	}
	records_claims_free(claims);
	return 0;
}
