/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replaces references to environment variables. The order matters and is CoreDNS's: first all
 * `{%NAME%}`, then all `{$NAME}`; a reference without a name stops its kind. */
#include "corefile/expand_priv.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text/utf8.h"

enum { MAX_STEPS = 1000 };

struct form {
	const char *open;
	const char *close;
};

static const struct form forms[] = {
	{ "{%", "%}" },
	{ "{$", "}" },
};

struct expansion {
	const struct corefile_source *src;
	struct strbuf text;
	int steps;
};

static const char *value_of(const struct corefile_source *src, const char *name, size_t len)
{
	if (src == NULL || src->env == NULL)
		return "";
	char *copy = xstrndup(name, len);
	const char *v = src->env(src->ctx, copy);
	free(copy);
	return v != NULL ? v : "";
}

/* Every occurrence of the `len` bytes at `ref`, which lie in the text, becomes the value. */
static int replace_all(struct expansion *expansion, const char *ref, size_t len, const char *value)
{
	struct strbuf out = STRBUF_INIT;
	size_t value_n = strlen(value);
	const char *p = expansion->text.s, *end = expansion->text.s + expansion->text.n, *hit;
	while ((hit = memmem(p, (size_t)(end - p), ref, len)) != NULL) {
		strbuf_add(&out, p, (size_t)(hit - p));
		strbuf_add(&out, value, value_n);
		p = hit + len;
		if (out.n > COREFILE_MAX_WORD_BYTES)
			break;
	}
	strbuf_add(&out, p, (size_t)(end - p));
	strbuf_done(&expansion->text);
	expansion->text = out;
	if (out.n > COREFILE_MAX_WORD_BYTES || ++expansion->steps > MAX_STEPS)
		return ERR_LIMIT;
	return 0;
}

static int expand_form(struct expansion *expansion, const struct form *form)
{
	size_t open_n = strlen(form->open), close_n = strlen(form->close);
	const char *start;
	while ((start = strstr(expansion->text.s, form->open)) != NULL) {
		const char *close = strstr(start, form->close);
		if (close == NULL || close <= start + open_n)
			return 0;
		const char *name = start + open_n;
		int r = replace_all(expansion, start, (size_t)(close + close_n - start),
				    value_of(expansion->src, name, (size_t)(close - name)));
		if (r < 0)
			return r;
	}
	return 0;
}

/* A value may hold references of the other kind: go on until nothing changes. */
static int expand_all(struct expansion *expansion)
{
	int before;
	do {
		before = expansion->steps;
		for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
			int r = expand_form(expansion, &forms[i]);
			if (r < 0)
				return r;
		}
	} while (expansion->steps != before);
	return 0;
}

/* Values come from outside; the lexer never lets other bytes through either. */
static char *dup_as_utf8(struct arena *arena, struct slice text)
{
	struct strbuf out = STRBUF_INIT;
	while (text.n > 0) {
		uint32_t cp;
		size_t n = utf8_decode(text, &cp);
		strbuf_add_slice(&out, n > 0 ? (struct slice){ text.p, n } : SLICE("\xef\xbf\xbd"));
		text = slice_from(text, MAX(n, (size_t)1));
	}
	char *copy = arena_strndup(arena, out.s, out.n);
	strbuf_done(&out);
	return copy;
}

int corefile_expand(struct arena *arena, const struct corefile_source *src, const struct word *word,
		    const char **ret, struct srcerr *reterr)
{
	struct expansion e = { .src = src };
	if (strstr(word->s, "{$") == NULL && strstr(word->s, "{%") == NULL) {
		*ret = word->s;
		return 0;
	}
	strbuf_init(&e.text);
	strbuf_adds(&e.text, word->s);
	int r = expand_all(&e);
	if (r == 0)
		*ret = e.steps == 0 ? word->s : dup_as_utf8(arena, strbuf_slice(&e.text));
	else
		IGNORE(srcerr_set(
			reterr, word->pos,
			"environment variables in '%.100s' refer to themselves or give more "
			"than %d bytes",
			word->s, COREFILE_MAX_WORD_BYTES));
	strbuf_done(&e.text);
	return r;
}
