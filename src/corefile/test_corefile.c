/* SPDX-License-Identifier: GPL-3.0-or-later */
/* corefile: the tree, imports and snippets, errors with their places, limits. */
#include "corefile/corefile.h"

#include <errno.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static const struct {
	const char *path;
	const char *text; /* NULL: cannot be read */
} files[] = {
	{ "/etc/dns/block", "host1 {\n\tdir1\n\tdir2 arg1\n}\n" },
	{ "/etc/dns/brace", "a {" },
	{ "/etc/dns/cycle1", "x\nimport cycle2" },
	{ "/etc/dns/cycle2", "import sub/../cycle1" },
	{ "/etc/dns/dirs", "dir2 1 2\ndir3" },
	{ "/etc/dns/empty", "# nothing\n" },
	{ "/etc/dns/glob/a", "glob0 {\n}\n" },
	{ "/etc/dns/glob/b", "" },
	{ "/etc/dns/glob/c", "glob1 {\n import ../dirs\n}\n" },
	{ "/etc/dns/keys", "k1 k2" },
	{ "/etc/dns/self", "d\nimport self" },
	{ "/etc/dns/unreadable", NULL },
	{ "/etc/dns/uses", "e {\n\timport common\n}\n" },
	{ "/etc/dns/wrong", "w {\n\t}  } x\n" },
};

struct fake {
	char warned[256];
	int n_warned;
	int n_read;
};

static int fake_glob(void *ctx, const char *pattern, struct arena *a, const char *const **ret,
		     size_t *ret_n)
{
	(void)ctx;
	const char **name = arena_alloc(a, ARRAY_LEN(files) * sizeof(*name));
	size_t n = 0;
	if (strchr(pattern, '!') != NULL)
		return -EACCES;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (fnmatch(pattern, files[i].path, FNM_PATHNAME) == 0)
			name[n++] = files[i].path;
	}
	*ret = name;
	*ret_n = n;
	return 0;
}

static int fake_read(void *ctx, const char *path, struct arena *a, struct slice *ret)
{
	struct fake *f = ctx;
	(void)a;
	f->n_read++;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (strcmp(files[i].path, path) != 0)
			continue;
		*ret = slice_of(files[i].text);
		return files[i].text != NULL ? 0 : -EISDIR;
	}
	return -ENOENT;
}

static const char *fake_env(void *ctx, const char *name)
{
	(void)ctx;
	if (strcmp(name, "ZONES") == 0)
		return "env.org,";
	if (strcmp(name, "SNIP") == 0)
		return "(snip)";
	return strcmp(name, "FILE") == 0 ? "dirs" : strcmp(name, "TWO") == 0 ? "a b" : NULL;
}

static void fake_warn(void *ctx, struct srcpos pos, const char *text)
{
	struct fake *f = ctx;
	snprintf(f->warned, sizeof(f->warned), "%s:%u:%u: %s", pos.file, pos.line, pos.col, text);
	f->n_warned++;
}

static struct corefile_source source_of(struct fake *f)
{
	return (struct corefile_source){ f, fake_glob, fake_read, fake_env, fake_warn };
}

/* The tree on one line: keys[dir a b{line{} line}; dir] */
static void dump_dirs(struct strbuf *out, const struct corefile_dir *d, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		strbuf_addf(out, "%s%s", i > 0 ? ";" : "", d[i].name.s);
		for (size_t k = 0; k < d[i].n_arg; k++)
			strbuf_addf(out, " %s", d[i].arg[k].s);
		if (!d[i].has_body)
			continue;
		strbuf_addc(out, '{');
		dump_dirs(out, d[i].body, d[i].n_body);
		strbuf_addc(out, '}');
	}
}

static void dump(struct strbuf *out, const struct corefile *cf)
{
	for (size_t i = 0; i < cf->n_block; i++) {
		for (size_t k = 0; k < cf->block[i].n_key; k++)
			strbuf_addf(out, "%s%s", k > 0 ? " " : "", cf->block[i].key[k].s);
		strbuf_addc(out, '[');
		dump_dirs(out, cf->block[i].dir, cf->block[i].n_dir);
		strbuf_addc(out, ']');
	}
}

struct tree_case {
	const char *text;
	const char *tree;
	const char *warning; /* NULL: none */
};

static const struct tree_case trees[] = {
	{ "", "", NULL },
	{ "# only this", "", NULL },
	{ "\"\"", "", NULL },
	{ "localhost", "localhost[]", NULL },
	{ "a:1234, b", "a:1234 b[]", NULL },
	{ "a,\n b,\n c", "a b c[]", NULL },
	{ "a \"\" b {\n}", "a b[]", NULL },
	{ "a\n dir1", "a[dir1]", NULL },
	{ "a:1\n dir1 foo bar\n dir2", "a:1[dir1 foo bar;dir2]", NULL },
	{ "a b {\n dir1 foo\n}", "a b[dir1 foo]", NULL },
	{ "a, b {\n dir1\n}\nc, d {\n}", "a b[dir1]c d[]", NULL },
	{ "a\n{\n dir1\n}", "a[dir1]", NULL },
	{ "a { }", "a[]", NULL },
	{ "a {}", "a {}[]", NULL },
	{ "a { dir1\n}", "a[dir1]", NULL },
	{ "a\n dir1 foo {\n  bar baz\n }\n dir2", "a[dir1 foo{bar baz};dir2]", NULL },
	{ "a\n dir1 {\n }\n dir2 { }", "a[dir1{};dir2{}]", NULL },
	{ "a {\n d {\n  n {\n   foo\n  }\n  m\n }\n e\n}", "a[d{n{foo};m};e]", NULL },
	{ "a {\n d { x 1 }\n e { f { g } }\n}", "a[d{x 1};e{f{g}}]", NULL },
	{ "a {\n d { x\n  y } \n}", "a[d{x;y}]", NULL },
	{ "a {\n d x \"1\n2\" {\n  y\n }\n}", "a[d x 1\n2{y}]", NULL },
	{ "a {\n d \"1\n2\" e\n f\n}", "a[d 1\n2 e;f]", NULL },
	{ "a {\n d \"{\" \"}\"\n \"import\" x\n}", "a[d { };import x]", NULL },
	{ "a {\n d import x\n}", "a[d import x]", NULL },
	{ "a {\n d a#b c\n}", "a[d a c]", NULL },
	/* variables */
	{ "{$ZONES} b {\n}", "env.org b[]", NULL },
	{ "a {\n d {$TWO} {$} {$NO}\n}", "a[d a b {$} ]", NULL },
	{ "{$NO} a\n import {$FILE}", "a[dir2 1 2;dir3]", NULL },
	/* imports */
	{ "import block", "host1[dir1;dir2 arg1]", NULL },
	{ "import /etc/dns/block", "host1[dir1;dir2 arg1]", NULL },
	{ "import ./sub//../block", "host1[dir1;dir2 arg1]", NULL },
	{ "import ../../../etc/dns/block", "host1[dir1;dir2 arg1]", NULL },
	{ "a {\n d1\n import dirs\n d4\n}", "a[d1;dir2 1 2;dir3;d4]", NULL },
	{ "a {\n d {\n  import dirs\n  x\n }\n}", "a[d{dir2 1 2;dir3;x}]", NULL },
	{ "a {\n d {\n  x import dirs\n }\n}", "a[d{x import dirs}]", NULL },
	{ "a {\n import empty\n d\n}", "a[d]", NULL },
	{ "import empty\na", "a[]", NULL },
	{ "import empty", "", NULL },
	{ "a,\nimport keys\n{\n d\n}", "a k1 k2[d]", NULL },
	{ "import brace\n d\n}\nb", "a[d]b[]", NULL },
	{ "import glob/*", "glob0[]glob1[dir2 1 2;dir3]", NULL },
	{ "import glob/?", "glob0[]glob1[dir2 1 2;dir3]", NULL },
	{ "import none/*\na", "a[]",
	  "/etc/dns/Corefile:1:8: no file matches the import pattern 'none/*'" },
	{ "a {\n import dirs\n import dirs\n}", "a[dir2 1 2;dir3;dir2 1 2;dir3]", NULL },
	/* snippets */
	{ "(s) {\n d1 x\n d2\n}\na {\n import s\n}", "a[d1 x;d2]", NULL },
	{ "(s)\n{\n d1 {\n }\n}\na\nimport s", "a[d1{}]", NULL },
	{ "(s) { d1 }\na {\n import s\n import s\n}", "a[d1;d1]", NULL },
	{ "(s) { }\na {\n import s\n d\n}", "a[d]", NULL },
	{ "(s) {\n x\n}\n(t) {\n import s\n y\n}\na {\n d {\n  import t\n }\n}", "a[d{x;y}]",
	  NULL },
	{ "(s) {\n b {\n }\n c {\n }\n}\nimport s\na", "b[]c[]a[]", NULL },
	{ "(common) {\n gz\n}\nimport uses", "e[gz]", NULL },
	{ "(dirs) {\n mine\n}\na {\n import dirs\n}", "a[mine]", NULL },
	{ "{$SNIP} {\n d\n}\na {\n import snip\n}", "a[d]", NULL },
	{ "(s) (t) {\n}", "(s) (t)[]", NULL },
	{ "(s) {\n}", "", NULL },
	/* legal, but not meant */
	{ "{\n d\n}\na", "a[]", "/etc/dns/Corefile:1:1: a block without a zone serves nothing" },
	{ "a {\n d {\n }\n", "a[d{}]",
	  "/etc/dns/Corefile:1:3: '{' without '}' at the end of the file" },
	{ "a {\n}\n}\n", "a[]", "/etc/dns/Corefile:3:1: '}' without '{' at the end of the file" },
	{ "a\n d\n}\n", "a[d]", "/etc/dns/Corefile:3:1: '}' without '{' at the end of the file" },
};

static void builds_the_tree(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
		struct fake fake = { .n_warned = 0 };
		const struct corefile_source src = source_of(&fake);
		struct strbuf got = STRBUF_INIT;
		struct corefile *cf = NULL;
		struct srcerr err = { .text = "" };
		int r = corefile_parse("/etc/dns/Corefile", slice_of(trees[i].text), &src, &cf,
				       &err);
		if (r < 0)
			fail_msg("%s: %s", trees[i].text, err.text);
		dump(&got, cf);
		assert_string_equal(got.s, trees[i].tree);
		assert_string_equal(fake.warned, trees[i].warning != NULL ? trees[i].warning : "");
		assert_int_equal(fake.n_warned, trees[i].warning != NULL);
		corefile_free(cf);
		strbuf_done(&got);
	}
}

#define MAIN "/etc/dns/Corefile:"

static const struct {
	const char *text;
	const char *error;
} errors[] = {
	{ "a,", MAIN "1:1: unexpected end of file, expected another zone after ','" },
	{ "a, {\n}", MAIN "1:4: unexpected '{', expected another zone after ','" },
	{ "a, , b {\n}", MAIN "1:4: unexpected ',', expected a zone" },
	{ "a,, b {\n}", MAIN "1:1: unexpected 'a,,', expected a zone" },
	{ "a } {\n}", MAIN "1:3: unexpected '}', expected a zone" },
	{ "} a", MAIN "1:1: unexpected '}', expected a zone" },
	{ "a {\n}\n}\nb", MAIN "3:1: unexpected '}', expected a zone" },
	{ "a\n d\n }\nb", MAIN "3:2: unexpected '}', expected a directive: the block has no '{'" },
	{ "a {\n d", MAIN
	  "2:2: unexpected end of file, expected '}' for the '{' of the block at " MAIN "1:3" },
	{ "a {", MAIN "1:3: unexpected end of file, expected '}' for the '{' of the block at " MAIN
		      "1:3" },
	{ "a\n d {\n  foo",
	  MAIN "3:3: unexpected end of file, expected '}' for the '{' of d at " MAIN "2:4" },
	{ "a {\n d }\n}",
	  MAIN "2:4: unexpected '}', expected an argument, or '}' on a line of its own" },
	{ "a\n d {\n } }", MAIN "3:4: unexpected '}', expected a new line after '}'" },
	{ "a {\n d {\n } x\n}", MAIN "3:4: unexpected 'x', expected a new line after '}'" },
	{ "a {\n d\n {\n }\n}",
	  MAIN "3:2: unexpected '{', expected a directive; its '{' must be on the same line" },
	{ "a {\n d {\n {\n }\n }\n}",
	  MAIN "3:2: unexpected '{', expected a property before its '{'" },
	{ "import",
	  MAIN "1:1: import without an argument, expected a snippet, a file or a pattern" },
	{ "import\nblock",
	  MAIN "1:1: import without an argument, expected a snippet, a file or a pattern" },
	{ "import {$NO}", MAIN "1:8: import of '', expected a snippet, a file or a pattern" },
	{ "import block dirs",
	  MAIN "1:14: unexpected 'dirs' after the argument of import, expected a new line" },
	{ "a {\n import dirs }",
	  MAIN "2:14: unexpected '}' after the argument of import, expected a new line" },
	{ "import no",
	  MAIN "1:8: nothing to import as 'no', expected a snippet defined above or a file" },
	{ "a {\n d {\n  import no\n }\n}",
	  MAIN "3:10: nothing to import as 'no', expected a snippet defined above or a file" },
	{ "a {\n import s\n}\n(s) {\n}",
	  MAIN "2:9: nothing to import as 's', expected a snippet defined above or a file" },
	{ "import */*",
	  MAIN "1:8: too many wildcards in '/etc/dns/*/*', expected at most one '*' and one '?'" },
	{ "import /?a?",
	  MAIN "1:8: too many wildcards in '/?a?', expected at most one '*' and one '?'" },
	{ "import /[a-z]",
	  MAIN "1:8: too many wildcards in '/[a-z]', expected at most one '*' and one '?'" },
	{ "import a!", MAIN "1:8: cannot import 'a!': Permission denied" },
	{ "import unreadable", MAIN "1:8: cannot import '/etc/dns/unreadable': Is a directory" },
	{ "\n import wrong", "/etc/dns/wrong:2:5: unexpected '}', expected a zone" },
	{ "a {\n import self\n}",
	  "/etc/dns/self:2:8: import cycle: file '/etc/dns/self' imports itself" },
	{ "a {\n import cycle1\n}", "/etc/dns/cycle2:1:8: import cycle: file '/etc/dns/cycle1' "
				    "imports itself" },
	{ "(s) {\n}\n(s) {\n}", MAIN "3:1: snippet 's' is already defined, expected another name" },
	{ "(s) {\n d {\n }\n",
	  MAIN "3:2: unexpected end of file, expected '}' for the '{' of (s) at " MAIN "1:5" },
	{ "(s)", MAIN "1:1: unexpected end of file, expected '{' after the name of a snippet" },
	{ "(s)\nd", MAIN "2:1: unexpected 'd', expected '{' after the name of a snippet" },
	{ "(s) {\n x\n import s\n}", MAIN "3:2: import cycle: snippet 's' imports itself" },
	{ "(s) {\n import t\n}\n(t) {\n import s\n}\na {\n import s\n}",
	  MAIN "5:9: import cycle: snippet 's' imports itself" },
	{ "\xc3\xa4 \xc3\xa4 } {", MAIN "1:5: unexpected '}', expected a zone" },
};

static void errors_say_where_and_what(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		struct fake fake = { .n_warned = 0 };
		const struct corefile_source src = source_of(&fake);
		struct corefile *cf = NULL;
		struct srcerr err = { .text = "" };
		char text[1024];
		int r = corefile_parse("/etc/dns/Corefile", slice_of(errors[i].text), &src, &cf,
				       &err);
		assert_true(r < 0);
		assert_null(cf);
		assert_string_equal(srcerr_str(&err, text, sizeof(text)), errors[i].error);
	}
}

static void words_have_places(void **state)
{
	(void)state;
	struct fake fake = { .n_warned = 0 };
	const struct corefile_source src = source_of(&fake);
	struct corefile *cf = NULL;
	assert_int_equal(corefile_parse("/etc/dns/Corefile",
					SLICE("a {\n  d \"x\ny\" z {\n p\n }\n import dirs\n}"),
					&src, &cf, NULL),
			 0);
	const struct corefile_dir *d = cf->block[0].dir;
	assert_int_equal(d[0].name.pos.line, 2);
	assert_int_equal(d[0].name.pos.col, 3);
	assert_int_equal(d[0].arg[1].pos.line, 3);
	assert_int_equal(d[0].arg[1].pos.col, 4);
	assert_int_equal(d[0].end.line, 5);
	assert_int_equal(d[0].end.col, 2);
	assert_string_equal(d[1].name.pos.file, "/etc/dns/dirs");
	assert_int_equal(d[1].end.col, 8);
	assert_int_equal(cf->n_file, 2);
	assert_string_equal(cf->file[0], "/etc/dns/Corefile");
	assert_string_equal(cf->file[1], "/etc/dns/dirs");
	assert_string_equal(cf->block[0].token[0].file, "");
	assert_string_equal(cf->block[0].token[cf->block[0].n_token - 1].file, "/etc/dns/dirs");
	corefile_free(cf);
}

static void works_without_a_source(void **state)
{
	(void)state;
	struct corefile *cf = NULL;
	assert_int_equal(corefile_parse("f", SLICE("{$X} a {\n import b*\n}"), NULL, &cf, NULL), 0);
	assert_int_equal(cf->block[0].n_key, 1);
	corefile_free(cf);
	assert_int_equal(corefile_parse("f", SLICE("import b"), NULL, &cf, NULL), ERR_PARSE);
	corefile_free(NULL);
}

static int parse_text(struct strbuf *text, struct fake *fake, struct srcerr *err)
{
	const struct corefile_source src = source_of(fake);
	struct corefile *cf = NULL;
	int r = corefile_parse("/etc/dns/Corefile", strbuf_slice(text), &src, &cf, err);
	corefile_free(cf);
	strbuf_done(text);
	return r;
}

static void repeat(struct strbuf *text, const char *s, int n)
{
	for (int i = 0; i < n; i++)
		strbuf_adds(text, s);
}

static void limits_imports(void **state)
{
	(void)state;
	for (int over = 0; over <= 1; over++) {
		struct strbuf text = STRBUF_INIT;
		struct fake fake = { .n_warned = 0 };
		struct srcerr err;
		strbuf_adds(&text, "(s) {\n d\n}\na\n");
		repeat(&text, "import s\n", COREFILE_MAX_SNIPPET_IMPORTS + over);
		assert_int_equal(parse_text(&text, &fake, &err), over ? ERR_LIMIT : 0);
		strbuf_adds(&text, "a\n");
		repeat(&text, "import /etc/dns/empty\n", COREFILE_MAX_FILE_IMPORTS + over);
		assert_int_equal(parse_text(&text, &fake, &err), over ? ERR_LIMIT : 0);
		assert_int_equal(fake.n_read, 1);
		if (over)
			assert_string_equal(err.text, "more than 100000 imports of files");
		fake.n_read = 0;
	}
}

/* s0 is twice `d`, s1 twice s0, ...: one word of text may stand for very many. */
static void limits_words_after_imports(void **state)
{
	(void)state;
	struct strbuf text = STRBUF_INIT;
	struct fake fake = { .n_warned = 0 };
	struct srcerr err;
	strbuf_adds(&text, "(s0) {\n");
	repeat(&text, "d d d d d d d d d d\n", 1000);
	strbuf_adds(&text, "}\na\n");
	repeat(&text, "import s0\n", COREFILE_MAX_TOKENS / 10000);
	assert_int_equal(parse_text(&text, &fake, &err), ERR_LIMIT);
	assert_string_equal(err.text, "more than 1000000 words after all imports");
}

static void limits_depth(void **state)
{
	(void)state;
	for (int over = 0; over <= 1; over++) {
		struct strbuf text = STRBUF_INIT;
		struct fake fake = { .n_warned = 0 };
		struct srcerr err;
		strbuf_adds(&text, "a\n");
		repeat(&text, "d {\n", COREFILE_MAX_DEPTH + over);
		repeat(&text, "}\n", COREFILE_MAX_DEPTH + over);
		assert_int_equal(parse_text(&text, &fake, &err), over ? ERR_LIMIT : 0);
		strbuf_adds(&text, "(s0) {\n d\n}\n");
		int n = COREFILE_MAX_DEPTH - 2 + over;
		for (int i = 0; i < n; i++)
			strbuf_addf(&text, "(s%d) {\n import s%d\n}\n", i + 1, i);
		strbuf_addf(&text, "a\nimport s%d\n", n);
		assert_int_equal(parse_text(&text, &fake, &err), over ? ERR_LIMIT : 0);
	}
}

static void limits_bytes(void **state)
{
	(void)state;
	for (int over = 0; over <= 1; over++) {
		struct strbuf text = STRBUF_INIT;
		struct fake fake = { .n_warned = 0 };
		struct srcerr err;
		strbuf_adds(&text, "a\n");
		while (text.n < (size_t)COREFILE_MAX_BYTES + (size_t)over)
			strbuf_addc(&text, '\n');
		assert_int_equal(parse_text(&text, &fake, &err), over ? ERR_LIMIT : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builds_the_tree),   cmocka_unit_test(errors_say_where_and_what),
		cmocka_unit_test(words_have_places), cmocka_unit_test(works_without_a_source),
		cmocka_unit_test(limits_imports),    cmocka_unit_test(limits_words_after_imports),
		cmocka_unit_test(limits_depth),	     cmocka_unit_test(limits_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
