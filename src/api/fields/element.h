/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elements of field paths: a field's name, or an item of a list. */
#pragma once

#include <jansson.h>

#include "base/compiler.h"
#include "base/strbuf.h"

enum fieldset_el_type { FIELDSET_NAME, FIELDSET_KEY, FIELDSET_VALUE, FIELDSET_INDEX };

struct fieldset_el {
	unsigned refs;
	enum fieldset_el_type type;
	json_int_t index;
	json_t *value; /* KEY: object with sorted names; VALUE: a scalar (clients may write others) */
	char name[];
};

struct fieldset_el *fieldset_el_name(const char *name);
/* `keys` in any order; values are copied. */
struct fieldset_el *fieldset_el_key(const json_t *keys);
/* The same; takes ownership of `keys`, which nothing else refers to, with all in it. */
struct fieldset_el *fieldset_el_key_new(json_t *keys);
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
