/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text parses or is refused; what parses can be printed, and the print parses to the same tree.
 * The input is cut at NUL bytes: the main file, then files "a", "b", ... for imports. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "corefile/corefile.h"
#include "corefile/key.h"
#include "corefile/print_test.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_FILES = 5 };

struct fake {
	struct slice file[MAX_FILES];
	size_t n;
};

static const struct {
	const char *name;
	const char *value;
} variables[] = {
	{ "ZONE", "example.org" },
	{ "PORT", "1053" },
	{ "DIR", "log" },
	{ "ARGS", "a \"b\" c" },
	{ "FILE", "a" },
	{ "LOOP", "{$LOOP}" },
	{ "GROW", "{$GROW}xx" },
	{ "BACK", "b c\\" },
	{ "BAD", "\xff\r\n#" },
	{ "BRACE", "{" },
	{ "IMPORT", "import" },
	{ "OTHER", "{%ZONE%}," },
	{ "NONE", "" },
	{ "HALF", "{%ZO" },
	{ "MARK", "\xef\xbb\xbf" },
};

static const char *fake_env(void *ctx, const char *name)
{
	(void)ctx;
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		if (strcmp(variables[i].name, name) == 0)
			return variables[i].value;
	}
	return NULL;
}

static int fake_glob(void *ctx, const char *pattern, struct arena *a, const char *const **ret,
		     size_t *ret_n)
{
	const struct fake *f = ctx;
	const char **name = arena_alloc(a, MAX_FILES * sizeof(*name));
	size_t n = 0;
	for (size_t i = 1; i < f->n; i++) {
		char *path = arena_printf(a, "/etc/%c", (char)('a' + i - 1));
		if (strchr(pattern, '*') != NULL || strcmp(pattern, path) == 0)
			name[n++] = path;
	}
	*ret = name;
	*ret_n = n;
	return 0;
}

static int fake_read(void *ctx, const char *path, struct arena *a, struct slice *ret)
{
	const struct fake *f = ctx;
	(void)a;
	*ret = f->file[1 + path[5] - 'a'];
	return 0;
}

static void fake_warn(void *ctx, struct srcpos pos, const char *text)
{
	(void)ctx;
	assert(pos.file != NULL && pos.line > 0 && pos.col > 0 && text[0] != '\0');
}

static void same_words(const struct word *a, size_t n_a, const struct word *b, size_t n_b)
{
	assert(n_a == n_b);
	for (size_t i = 0; i < n_a; i++)
		assert(strcmp(a[i].s, b[i].s) == 0);
}

static void same_dirs(const struct corefile_dir *a, size_t n_a, const struct corefile_dir *b,
		      size_t n_b)
{
	assert(n_a == n_b);
	for (size_t i = 0; i < n_a; i++) {
		same_words(&a[i].name, 1, &b[i].name, 1);
		same_words(a[i].arg, a[i].n_arg, b[i].arg, b[i].n_arg);
		assert(a[i].has_body == b[i].has_body);
		same_dirs(a[i].body, a[i].n_body, b[i].body, b[i].n_body);
	}
}

static void same(const struct corefile *a, const struct corefile *b)
{
	assert(a->n_block == b->n_block);
	for (size_t i = 0; i < a->n_block; i++) {
		const struct corefile_block *x = &a->block[i], *y = &b->block[i];
		same_words(x->key, x->n_key, y->key, y->n_key);
		same_dirs(x->dir, x->n_dir, y->dir, y->n_dir);
	}
}

static void check_tree(const struct corefile *cf, const struct corefile_source *src)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf again = STRBUF_INIT;
	CLEANUP(corefile_freep) struct corefile *copy = NULL;
	corefile_json(cf, &again);
	assert(again.n > 0);
	strbuf_reset(&again);
	if (corefile_print(cf, &text) < 0)
		return;
	int r = corefile_parse("/etc/printed", strbuf_slice(&text), src, &copy, NULL);
	assert(r == 0);
	same(cf, copy);
	r = corefile_print(copy, &again);
	assert(r == 0 && slice_eq(strbuf_slice(&text), strbuf_slice(&again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fake fake = { .n = 0 };
	const struct corefile_source src = { &fake, fake_glob, fake_read, fake_env, fake_warn };
	struct slice rest = { (const char *)data, size };
	while (rest.p != NULL && fake.n < MAX_FILES - 1)
		fake.file[fake.n++] = slice_cut(&rest, '\0');
	if (rest.p != NULL)
		fake.file[fake.n++] = rest;
	struct corefile *cf = NULL;
	struct srcerr err = { .text = "" };
	int r = corefile_parse("/etc/Corefile", fake.file[0], &src, &cf, &err);
	assert(r <= 0 && (r < 0) == (err.text[0] != '\0'));
	if (r == 0)
		check_tree(cf, &src);
	corefile_free(cf);
	return 0;
}
