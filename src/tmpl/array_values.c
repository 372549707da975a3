/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ready-made lists and maps over plain arrays. */
#include "tmpl/tmpl_priv.h"

static size_t strings_len(const void *self)
{
	return ((const struct tmpl_strings *)self)->n;
}

static int strings_get(const void *self, size_t index, struct arena *arena, struct tmpl_value *ret)
{
	(void)arena;
	*ret = tmpl_string(((const struct tmpl_strings *)self)->v[index]);
	return 0;
}

const struct tmpl_list tmpl_strings_type = {
	.name = "[]string",
	.elem = { .kind = TMPL_STRING },
	.len = strings_len,
	.get = strings_get,
};

static size_t values_len(const void *self)
{
	return ((const struct tmpl_values *)self)->n;
}

static int values_get(const void *self, size_t index, struct arena *arena, struct tmpl_value *ret)
{
	(void)arena;
	*ret = ((const struct tmpl_values *)self)->v[index];
	return 0;
}

const struct tmpl_list tmpl_values_type = {
	.name = "[]interface {}",
	.elem = { .kind = TMPL_ANY },
	.len = values_len,
	.get = values_get,
};

static size_t entries_len(const void *self)
{
	return ((const struct tmpl_entries *)self)->n;
}

static int entries_find(const void *self, struct slice key, struct arena *arena,
			struct tmpl_value *ret)
{
	const struct tmpl_entries *e = self;
	(void)arena;
	for (size_t i = 0; i < e->n; i++) {
		if (slice_eq(e->v[i].key, key)) {
			*ret = e->v[i].value;
			return 1;
		}
	}
	return 0;
}

static int entries_entry(const void *self, size_t index, struct slice *ret_key, struct arena *arena,
			 struct tmpl_value *ret)
{
	const struct tmpl_entry *e = &((const struct tmpl_entries *)self)->v[index];
	(void)arena;
	*ret_key = e->key;
	*ret = e->value;
	return 0;
}

const struct tmpl_map tmpl_entries_type = {
	.name = "map[string]interface {}",
	.elem = { .kind = TMPL_ANY },
	.len = entries_len,
	.find = entries_find,
	.entry = entries_entry,
};
