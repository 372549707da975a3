/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a Corefile in its canonical form: one directive to a line, tabs, quotes only where a word
 * would be read as something else without them. */
#include <string.h>

#include "base/err.h"
#include "base/text/utf8.h"
#include "corefile/corefile.h"
#include "corefile/lexer_priv.h"
#include "corefile/print_test.h"

static bool needs_quotes(const char *text)
{
	static const char *const syntax[] = { "", "{", "}", "import" };
	for (size_t i = 0; i < ARRAY_LEN(syntax); i++) {
		if (strcmp(text, syntax[i]) == 0)
			return true;
	}
	/* A byte order mark would be lost at the start of the file. */
	if (text[0] == '"' || strchr(text, '#') != NULL || strncmp(text, "\xef\xbb\xbf", 3) == 0)
		return true;
	for (struct slice rest = slice_of(text); rest.n > 0;) {
		uint32_t cp;
		size_t n = utf8_decode(rest, &cp);
		if (n > 0 && corefile_is_space(cp))
			return true;
		rest = slice_from(rest, MAX(n, (size_t)1));
	}
	return false;
}

/* In quotes a backslash stands for itself, two of them for two, and one before `"` for none. So an
 * odd number of them cannot stand before a `"`, be it in the word or the closing one. */
static int add_quoted(struct strbuf *out, const char *text)
{
	bool odd = false;
	strbuf_addc(out, '"');
	for (; *text != '\0'; text++) {
		if (*text == '"') {
			if (odd)
				return ERR_UNSUPPORTED;
			strbuf_addc(out, '\\');
		}
		odd = *text == '\\' && !odd;
		strbuf_addc(out, *text);
	}
	strbuf_addc(out, '"');
	return odd ? ERR_UNSUPPORTED : 0;
}

static int add_word(struct strbuf *out, const char *text)
{
	if (needs_quotes(text))
		return add_quoted(out, text);
	strbuf_adds(out, text);
	return 0;
}

static int add_words(struct strbuf *out, const struct word *word, size_t count, bool after)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0 || after)
			strbuf_addc(out, ' ');
		int r = add_word(out, word[i].s);
		if (r < 0)
			return r;
	}
	return 0;
}

static void add_indent(struct strbuf *out, int depth)
{
	for (int i = 0; i < depth; i++)
		strbuf_addc(out, '\t');
}

static int add_lines(struct strbuf *out, const struct corefile_dir *dir, size_t count, int depth)
{
	strbuf_adds(out, " {\n");
	for (size_t i = 0; i < count; i++) {
		add_indent(out, depth);
		int r = add_word(out, dir[i].name.s);
		if (r == 0)
			r = add_words(out, dir[i].arg, dir[i].n_arg, true);
		if (r == 0 && dir[i].has_body)
			r = add_lines(out, dir[i].body, dir[i].n_body, depth + 1);
		else
			strbuf_addc(out, '\n');
		if (r < 0)
			return r;
	}
	add_indent(out, depth - 1);
	strbuf_adds(out, "}\n");
	return 0;
}

int corefile_print(const struct corefile *cf, struct strbuf *out)
{
	for (size_t i = 0; i < cf->n_block; i++) {
		const struct corefile_block *b = &cf->block[i];
		if (i > 0)
			strbuf_addc(out, '\n');
		int r = add_words(out, b->key, b->n_key, false);
		if (r == 0)
			r = add_lines(out, b->dir, b->n_dir, 1);
		if (r < 0)
			return r;
	}
	return 0;
}
