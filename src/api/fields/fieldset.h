/* Sets of fields of an object, as managedFields keep them (FieldsV1), and what can be done with
 * them.
 *
 *	element		one step: a field's name, an item of a list by its keys, by its value or
 *			(in what clients write) by its number
 *	path		elements from the object down
 *	member		a path that is in the set; what is below it is another matter
 *
 * Elements and sets are counted references and belong to one thread. Sets are not changed once they
 * are shared: every operation gives a new one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/strbuf.h"

enum {
	FIELDSET_DEPTH_MAX = 64,
	FIELDSET_FIELDS_MAX = 100000,
	FIELDSET_KEY_MAX_BYTES = 64 << 10, /* of one element's text */
};

enum fieldset_el_type { FIELDSET_NAME, FIELDSET_KEY, FIELDSET_VALUE, FIELDSET_INDEX };

struct fieldset_el {
	unsigned refs;
	enum fieldset_el_type type;
	json_int_t index;
	json_t *v; /* KEY: object with sorted names; VALUE: a scalar (clients may write others) */
	char name[];
};

struct fieldset_el *fieldset_el_name(const char *name);
/* `keys` in any order; values are copied. */
struct fieldset_el *fieldset_el_key(const json_t *keys);
struct fieldset_el *fieldset_el_value(const json_t *value);
struct fieldset_el *fieldset_el_index(json_int_t number);
struct fieldset_el *fieldset_el_ref(struct fieldset_el *element);
void fieldset_el_unref(struct fieldset_el *element);
static inline void fieldset_el_unrefp(struct fieldset_el **element)
{
	fieldset_el_unref(*element);
}
/* The server's order: names, keys, values, numbers. */
int fieldset_el_cmp(const struct fieldset_el *left, const struct fieldset_el *right);
/* `.spec`, `[name="x",port=80]`, `[="a"]`, `[3]` */
void fieldset_el_text(struct strbuf *out, const struct fieldset_el *element);
/* `f:spec`, `k:{"name":"x"}`, `v:"a"`, `i:3` */
void fieldset_el_write(struct strbuf *out, const struct fieldset_el *element);
/* ERR_PARSE; ERR_UNSUPPORTED: of a type not known here, which readers leave out. */
MUST_CHECK int fieldset_el_parse(const char *text, struct fieldset_el **ret);

/* Values in an order of their own: numbers by their size, texts, truth values, lists, objects,
 * null. 0: equal as the server compares. */
int fieldset_value_cmp(const json_t *left, const json_t *right);

struct fieldset;
struct fieldset_node {
	struct fieldset_el *el;
	struct fieldset *sub; /* NULL: nothing below */
	bool member;
};
struct fieldset {
	unsigned refs;
	size_t n, cap;
	struct fieldset_node *v; /* sorted; each is a member or has something below */
};

struct fieldset *fieldset_new(void);
struct fieldset *fieldset_ref(struct fieldset *fieldset);
void fieldset_unref(struct fieldset *fieldset);
static inline void fieldset_unrefp(struct fieldset **fieldset)
{
	fieldset_unref(*fieldset);
}

/* Only on sets that are not shared yet. An empty path is nothing. */
void fieldset_insert(struct fieldset *fieldset, struct fieldset_el *const *path, size_t count);
/* NULL when the element is not there. */
const struct fieldset_node *fieldset_find(const struct fieldset *fieldset,
					  const struct fieldset_el *element);
bool fieldset_has(const struct fieldset *fieldset, struct fieldset_el *const *path, size_t count);
bool fieldset_empty(const struct fieldset *fieldset);
size_t fieldset_count(const struct fieldset *fieldset);
bool fieldset_equal(const struct fieldset *left, const struct fieldset *right);

struct fieldset *fieldset_union(struct fieldset *left, struct fieldset *right);
struct fieldset *fieldset_intersection(struct fieldset *left, struct fieldset *right);
/* Members of a that are not members of b. */
struct fieldset *fieldset_difference(struct fieldset *left, struct fieldset *right);
/* The same, and without what is below b's members. */
struct fieldset *fieldset_without(struct fieldset *left, struct fieldset *right);
/* Members with nothing below them. */
struct fieldset *fieldset_leaves(struct fieldset *fieldset);

/* Each member, those of a level before those below it. */
typedef void (*fieldset_each_fn)(void *ctx, struct fieldset_el *const *path, size_t n);
void fieldset_each(const struct fieldset *fieldset, fieldset_each_fn fn, void *ctx);
void fieldset_path_text(struct strbuf *out, struct fieldset_el *const *path, size_t count);

/* FieldsV1. ERR_PARSE, ERR_LIMIT. */
MUST_CHECK int fieldset_parse(const json_t *fields_v1, struct fieldset **ret);
/* A new object in the server's order. */
json_t *fieldset_write(const struct fieldset *fieldset);

/* How Go prints values, for messages: %v (NULL is a list with nothing in it), and %#v. */
void fieldset_go_value(struct strbuf *out, const json_t *value);
/* %T; `nil` where there is no value. */
const char *fieldset_go_type(const json_t *value, const char *nil);
void fieldset_go_syntax(struct strbuf *out, const json_t *value);
