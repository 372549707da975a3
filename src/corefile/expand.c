/* Replaces references to environment variables. The order matters and is CoreDNS's: first all
 * `{%NAME%}`, then all `{$NAME}`; a reference without a name stops its kind. */
#include "corefile/expand_priv.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"

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

static const char *value_of(const struct corefile_source *src, const char *name, size_t n)
{
	if (src == NULL || src->env == NULL)
		return "";
	char *copy = xstrndup(name, n);
	const char *v = src->env(src->ctx, copy);
	free(copy);
	return v != NULL ? v : "";
}

/* Every occurrence of the `n` bytes at `ref`, which lie in the text, becomes the value. */
static int replace_all(struct expansion *e, const char *ref, size_t n, const char *value)
{
	struct strbuf out = STRBUF_INIT;
	size_t value_n = strlen(value);
	const char *p = e->text.s, *end = e->text.s + e->text.n, *hit;
	while ((hit = memmem(p, (size_t)(end - p), ref, n)) != NULL) {
		strbuf_add(&out, p, (size_t)(hit - p));
		strbuf_add(&out, value, value_n);
		p = hit + n;
		if (out.n > COREFILE_MAX_WORD_BYTES)
			break;
	}
	strbuf_add(&out, p, (size_t)(end - p));
	strbuf_done(&e->text);
	e->text = out;
	if (out.n > COREFILE_MAX_WORD_BYTES || ++e->steps > MAX_STEPS)
		return ERR_LIMIT;
	return 0;
}

static int expand_form(struct expansion *e, const struct form *f)
{
	size_t open_n = strlen(f->open), close_n = strlen(f->close);
	const char *start;
	while ((start = strstr(e->text.s, f->open)) != NULL) {
		const char *close = strstr(start, f->close);
		if (close == NULL || close <= start + open_n)
			return 0;
		const char *name = start + open_n;
		int r = replace_all(e, start, (size_t)(close + close_n - start),
				    value_of(e->src, name, (size_t)(close - name)));
		if (r < 0)
			return r;
	}
	return 0;
}

/* A value may hold references of the other kind: go on until nothing changes. */
static int expand_all(struct expansion *e)
{
	int before;
	do {
		before = e->steps;
		for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
			int r = expand_form(e, &forms[i]);
			if (r < 0)
				return r;
		}
	} while (e->steps != before);
	return 0;
}

/* Values come from outside; the lexer never lets other bytes through either. */
static char *dup_as_utf8(struct arena *a, struct slice s)
{
	struct strbuf out = STRBUF_INIT;
	while (s.n > 0) {
		uint32_t cp;
		size_t n = utf8_decode(s, &cp);
		strbuf_add_slice(&out, n > 0 ? (struct slice){ s.p, n } : SLICE("\xef\xbf\xbd"));
		s = slice_from(s, MAX(n, (size_t)1));
	}
	char *copy = arena_strndup(a, out.s, out.n);
	strbuf_done(&out);
	return copy;
}

int corefile_expand(struct arena *a, const struct corefile_source *src, const struct word *w,
		    const char **ret, struct srcerr *reterr)
{
	struct expansion e = { .src = src };
	if (strstr(w->s, "{$") == NULL && strstr(w->s, "{%") == NULL) {
		*ret = w->s;
		return 0;
	}
	strbuf_init(&e.text);
	strbuf_adds(&e.text, w->s);
	int r = expand_all(&e);
	if (r == 0)
		*ret = e.steps == 0 ? w->s : dup_as_utf8(a, strbuf_slice(&e.text));
	else
		IGNORE(srcerr_set(
			reterr, w->pos,
			"environment variables in '%.100s' refer to themselves or give more "
			"than %d bytes",
			w->s, COREFILE_MAX_WORD_BYTES));
	strbuf_done(&e.text);
	return r;
}
