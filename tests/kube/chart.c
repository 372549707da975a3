/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Renders a file of a Helm chart that uses nothing but Go's own template language. Standard input is
 * {"template": TEXT, "data": {"Values": ..., "Release": ...}}; standard output the manifest. */
#include <stdio.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "tmpl/tmpl.h"

enum { OUT_BYTES = 1 << 16, ARENA_BYTES = 1 << 16 };

static struct arena trees; /* of all values */

static struct tmpl_value value_of(const json_t *tree);

static struct tmpl_value map_of(const json_t *tree)
{
	struct tmpl_entries *entries = arena_alloc(&trees, sizeof(*entries));
	struct tmpl_entry *list = arena_alloc(&trees, (json_object_size(tree) + 1) * sizeof(*list));
	entries->n = 0;
	const char *key;
	json_t *value;
	void *at = json_object_iter((json_t *)(uintptr_t)tree);
	for (; at != NULL; at = json_object_iter_next((json_t *)(uintptr_t)tree, at)) {
		key = json_object_iter_key(at);
		value = json_object_iter_value(at);
		list[entries->n++] = (struct tmpl_entry){ slice_of(key), value_of(value) };
	}
	entries->v = list;
	return tmpl_map(&tmpl_entries_type, entries);
}

static struct tmpl_value list_of(const json_t *tree)
{
	struct tmpl_values *values = arena_alloc(&trees, sizeof(*values));
	struct tmpl_value *list = arena_alloc(&trees, (json_array_size(tree) + 1) * sizeof(*list));
	values->n = 0;
	for (; values->n < json_array_size(tree); values->n++)
		list[values->n] = value_of(json_array_get(tree, values->n));
	values->v = list;
	return tmpl_list(&tmpl_values_type, values);
}

static struct tmpl_value value_of(const json_t *tree)
{
	if (json_is_object(tree))
		return map_of(tree);
	if (json_is_array(tree))
		return list_of(tree);
	if (json_is_boolean(tree))
		return tmpl_bool(json_is_true(tree));
	if (json_is_integer(tree))
		return tmpl_int(json_integer_value(tree));
	return tmpl_string(slice_of(json_is_string(tree) ? json_string_value(tree) : ""));
}

static int render(const json_t *input)
{
	static char out[OUT_BYTES], memory[ARENA_BYTES], why[256];
	struct tmpl_env env = { .root = { .kind = TMPL_MAP, .map = &tmpl_entries_type } };
	struct srcerr err = { 0 };
	struct arena arena;
	CLEANUP(tmpl_freep) struct tmpl *tmpl = NULL;
	size_t n = 0;
	struct slice text = slice_of(json_string_value(json_object_get(input, "template")));
	if (tmpl_parse(text, (struct srcpos){ "chart", 1, 1 }, &env, &tmpl, &err) < 0) {
		fprintf(stderr, "line %u: %s\n", err.pos.line, err.text);
		return 1;
	}
	arena_init_fixed(&arena, memory, sizeof(memory));
	struct tmpl_run run = { .root = map_of(json_object_get(input, "data")),
				.arena = &arena,
				.err = why,
				.err_cap = sizeof(why) };
	if (tmpl_exec(tmpl, &run, out, sizeof(out), &n) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	fwrite(out, 1, n, stdout);
	return 0;
}

int main(void)
{
	json_t *input = json_loadf(stdin, 0, NULL);
	arena_init(&trees);
	int status = render(input);
	arena_done(&trees);
	json_decref(input);
	return status;
}
