/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What server-side apply needs to know of a field, read from its schema: scalar, list or map;
 * whether a list is atomic, a set or a map, and its keys. Without a schema the value decides. */
#include "api/apply/type_priv.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/patch/objectmeta_schema.h"
#include "api/schema_cache.h"
#include "api/tree.h"
#include "base/mem.h"

static const char *schema_string(const json_t *schema, const char *key)
{
	return api_text(json_object_get(schema, key));
}

/* What is read from a schema, once for each write or for good: a field is visited by every step. */
struct managed_facts {
	uint64_t write; /* in which it was read */
	const json_t *schema;
	bool preserve, whole;
	struct managed_atom atom; /* without its type */
	const json_t *properties, *others, *items;
};

static void resolve_schema(struct managed_atom *atom, const json_t *schema);

static struct managed_facts gather_facts(const json_t *schema)
{
	struct managed_facts facts = { .schema = schema };
	facts.preserve =
		json_is_true(json_object_get(schema, "x-kubernetes-preserve-unknown-fields"));
	facts.whole = json_is_true(json_object_get(schema, "x-kubernetes-embedded-resource"));
	facts.properties = json_object_get(schema, "properties");
	facts.others = json_object_get(schema, "additionalProperties");
	facts.items = json_object_get(schema, "items");
	resolve_schema(&facts.atom, schema);
	return facts;
}

/* ---- for good ---- */

struct kept_facts {
	struct api_schema_entry entry;
	struct managed_facts facts;
};

_Static_assert(offsetof(struct kept_facts, entry) == 0, "entries are cast to facts");

static struct api_schema_cache cache;

static const struct managed_facts *keep_facts(const json_t *schema)
{
	const struct kept_facts *known =
		(const struct kept_facts *)api_schema_cache_find(&cache, schema);
	if (known != NULL)
		return &known->facts;
	struct kept_facts *kept = xmalloc(sizeof(*kept));
	kept->facts = gather_facts(schema);
	api_schema_cache_add(&cache, schema, &kept->entry);
	return &kept->facts;
}

/* ---- for one write ---- */

enum { MEMO_BITS = 7 };

struct memo {
	uint64_t write; /* number of the present or last one */
	struct managed_facts slots[1 << MEMO_BITS];
};

/* How the facts of the thread's present write are remembered. */
static _Thread_local enum { NO_WRITE, ONE_WRITE, FOR_GOOD } mode;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_thread_end;

static void make_key(void)
{
	if (pthread_key_create(&at_thread_end, free) != 0)
		abort();
}

/* The thread's, made when first needed: each thread of the process has room for its thread-local
 * variables, which is filled with zeros at its start, and most threads never apply anything. */
static struct memo *memo_of_thread(void)
{
	static _Thread_local struct memo *memo;
	if (memo == NULL) {
		pthread_once(&once, make_key);
		memo = xcalloc(1, sizeof(*memo));
		pthread_setspecific(at_thread_end, memo);
	}
	return memo;
}

void managed_type_memo_begin(bool for_good)
{
	assert(mode == NO_WRITE);
	mode = for_good ? FOR_GOOD : ONE_WRITE;
	if (!for_good)
		memo_of_thread()->write++;
}

void managed_type_memo_end(void)
{
	assert(mode != NO_WRITE);
	mode = NO_WRITE;
}

/* Valid until the next call. Outside of a write nothing is remembered, since schemas may go. */
static const struct managed_facts *facts_of(const json_t *schema)
{
	if (mode == FOR_GOOD)
		return keep_facts(schema);
	struct memo *memo = memo_of_thread();
	struct managed_facts *facts = &memo->slots[api_schema_hash(schema, MEMO_BITS)];
	if (mode == NO_WRITE || facts->schema != schema || facts->write != memo->write) {
		*facts = gather_facts(schema);
		facts->write = memo->write;
	}
	return facts;
}

static const struct managed_facts *facts_of_type(const struct managed_type *type)
{
	return type->facts != NULL ? type->facts : facts_of(type->schema);
}

static struct managed_type type_of_schema(const json_t *schema, bool preserve)
{
	const struct managed_facts *facts = facts_of(schema);
	return (struct managed_type){ .kind = facts->whole ? MANAGED_ROOT : MANAGED_SCHEMA,
				      .preserve = preserve || facts->preserve,
				      .schema = schema,
				      .facts = mode == FOR_GOOD ? facts : NULL };
}

struct managed_type managed_type_root(const json_t *schema)
{
	if (schema == NULL)
		return (struct managed_type){ .kind = MANAGED_DEDUCED };
	struct managed_type t = type_of_schema(schema, false);
	t.kind = MANAGED_ROOT;
	return t;
}

static enum managed_scalar scalar_kind(const char *type, const char *format)
{
	if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
		return MANAGED_SCALAR_NUMBER;
	if (strcmp(type, "boolean") == 0)
		return MANAGED_SCALAR_BOOLEAN;
	if (strcmp(type, "string") == 0 && (format[0] == '\0' || strcmp(format, "byte") == 0))
		return MANAGED_SCALAR_STRING;
	return MANAGED_SCALAR_ANY;
}

/* The list's own x-kubernetes-list-type decides; without it, the keywords of strategic merge
 * patches. */
static void resolve_list(struct managed_atom *atom, const json_t *schema)
{
	const char *type = schema_string(schema, "x-kubernetes-list-type");
	const char *strategy = schema_string(schema, "x-kubernetes-patch-strategy");
	atom->list = true;
	atom->list_atomic = true;
	if (strcmp(type, "set") == 0) {
		atom->list_atomic = false;
	} else if (strcmp(type, "map") == 0) {
		atom->list_atomic = false;
		atom->keys = json_object_get(schema, "x-kubernetes-list-map-keys");
	} else if (type[0] == '\0' && strncmp(strategy, "merge", strlen("merge")) == 0) {
		atom->list_atomic = false;
		atom->keys = json_object_get(schema, "x-kubernetes-patch-merge-key");
	}
}

static void resolve_schema(struct managed_atom *atom, const json_t *schema)
{
	const char *type = schema_string(schema, "type");
	bool any = type[0] == '\0';
	if (strcmp(schema_string(json_object_get(schema, "x-go"), "type"), "resource.Quantity") ==
	    0) {
		atom->scalar = MANAGED_SCALAR_ANY;
		return;
	}
	if (any || strcmp(type, "object") == 0) {
		atom->map = true;
		atom->map_atomic =
			strcmp(schema_string(schema, "x-kubernetes-map-type"), "atomic") == 0;
	}
	if (any || strcmp(type, "array") == 0)
		resolve_list(atom, schema);
	if (any)
		atom->scalar = MANAGED_SCALAR_ANY;
	else if (!atom->map && !atom->list)
		atom->scalar = scalar_kind(type, schema_string(schema, "format"));
}

struct managed_atom managed_type_resolve(struct managed_type type)
{
	struct managed_atom a = { .type = type };
	switch (type.kind) {
	case MANAGED_NONE:
		break;
	case MANAGED_SCHEMA:
	case MANAGED_ROOT:
		a = facts_of_type(&type)->atom;
		a.type = type;
		break;
	case MANAGED_TEXT:
		a.scalar = MANAGED_SCALAR_STRING;
		break;
	case MANAGED_DEDUCED:
	case MANAGED_UNTYPED:
		a.scalar = MANAGED_SCALAR_ANY;
		a.list = a.map = a.list_atomic = true;
		a.map_atomic = type.kind == MANAGED_UNTYPED;
		break;
	}
	return a;
}

struct managed_atom managed_type_deduce(struct managed_atom atom, const json_t *value)
{
	if (json_is_object(value) && atom.map) {
		atom.scalar = MANAGED_SCALAR_NONE;
		atom.list = false;
	} else if (json_is_array(value) && atom.list) {
		atom.scalar = MANAGED_SCALAR_NONE;
		atom.map = false;
	} else if ((json_is_string(value) || json_is_number(value) || json_is_boolean(value)) &&
		   atom.scalar != MANAGED_SCALAR_NONE) {
		atom.list = atom.map = false;
	}
	return atom;
}

bool managed_type_same_shape(const struct managed_atom *left, const struct managed_atom *right)
{
	return left->scalar == right->scalar && left->list == right->list &&
	       left->map == right->map;
}

/* What is not named: the schema of all others, else free where nothing is named or all is kept. */
static struct managed_type type_of_undeclared(const struct managed_type *type)
{
	const struct managed_facts *facts = facts_of_type(type);
	const json_t *more = facts->others;
	bool named = json_object_size(facts->properties) > 0 || type->kind == MANAGED_ROOT;
	if (json_is_object(more))
		return type_of_schema(more, type->preserve);
	if (json_is_true(more) || (more == NULL && (type->preserve || !named)))
		return (struct managed_type){ .kind = MANAGED_DEDUCED };
	return (struct managed_type){ .kind = MANAGED_NONE };
}

bool managed_type_field(const struct managed_atom *atom, const char *key, struct managed_type *ret,
			const json_t **ret_default)
{
	const struct managed_type *t = &atom->type;
	if (ret_default != NULL)
		*ret_default = NULL;
	if (t->kind == MANAGED_DEDUCED || t->kind == MANAGED_UNTYPED) {
		*ret = *t;
		return false;
	}
	if (t->kind == MANAGED_ROOT && strcmp(key, "metadata") == 0) {
		*ret = type_of_schema(api_objectmeta_schema(), false);
		return true;
	}
	if (t->kind == MANAGED_ROOT &&
	    (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0)) {
		*ret = (struct managed_type){ .kind = MANAGED_TEXT };
		return true;
	}
	const json_t *s = json_object_get(facts_of_type(t)->properties, key);
	if (s == NULL) {
		*ret = type_of_undeclared(t);
		return false;
	}
	*ret = type_of_schema(s, t->preserve);
	if (ret_default != NULL)
		*ret_default = json_object_get(s, "default");
	return true;
}

struct managed_type managed_type_items(const struct managed_atom *atom)
{
	const json_t *items = facts_of_type(&atom->type)->items;
	if (!json_is_object(items))
		return (struct managed_type){ .kind = MANAGED_UNTYPED };
	return type_of_schema(items, atom->type.preserve);
}

bool managed_type_is_untyped_map(const struct managed_atom *atom)
{
	if (atom->type.kind == MANAGED_DEDUCED || atom->type.kind == MANAGED_UNTYPED)
		return true;
	if (atom->type.kind != MANAGED_SCHEMA ||
	    json_object_size(facts_of_type(&atom->type)->properties) > 0)
		return false;
	struct managed_type t = type_of_undeclared(&atom->type);
	return t.kind == MANAGED_DEDUCED ||
	       (t.kind == MANAGED_SCHEMA && managed_type_resolve(t).scalar == MANAGED_SCALAR_ANY);
}
