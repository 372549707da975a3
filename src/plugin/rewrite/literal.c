/* What a name must have for a pattern to match it: a text that ends where a label ends, read from
 * the pattern. Found in patterns such as ^(.*)\.apps\.example\.com\.$, whose groups need not be
 * looked into; in others nothing is found, and they are always tried. */
#include <string.h>

#include "plugin/rewrite/rewrite_priv.h"

struct reader {
	const char *p;
	unsigned depth; /* of groups: what is in them may be optional */
	char *run;	/* literal characters just read */
	size_t run_n;
	char *best; /* the longest up to a dot */
	size_t best_n;
	bool give_up;
};

/* In a name's text these stand for themselves. */
static bool is_plain(char c)
{
	return ascii_isdigit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
}

/* A literal dot ends at p. */
static void dot(struct reader *r)
{
	if (r->depth > 0 || (*r->p != '\0' && strchr("*?+{", *r->p) != NULL)) {
		r->run_n = 0;
		return;
	}
	r->run[r->run_n++] = '.';
	if (r->run_n > r->best_n) {
		memcpy(r->best, r->run, r->run_n);
		r->best_n = r->run_n;
	}
}

/* Past a backslash: punctuation is literal, these letters stand for one character or for none. */
static void escape(struct reader *r)
{
	char c = *r->p;
	bool letter = ascii_isalpha(c) || ascii_isdigit(c);
	if (c == '\0' || (letter && strchr("dDwWsSbBAz", c) == NULL)) {
		r->give_up = true;
		return;
	}
	r->p++;
	if (c == '.')
		dot(r);
	else
		r->run_n = 0;
}

/* Past the opening bracket of a class. */
static void skip_class(struct reader *r)
{
	if (strncmp(r->p, ".]", 2) == 0) {
		r->p += 2;
		dot(r);
		return;
	}
	r->run_n = 0;
	r->p += *r->p == '^';
	for (bool first = true; *r->p != '\0' && (*r->p != ']' || first); first = false) {
		if (*r->p == '[') { /* [:alpha:] */
			r->give_up = true;
			return;
		}
		r->p += *r->p == '\\' && r->p[1] != '\0' ? 2 : 1;
	}
	r->p += *r->p == ']';
}

/* Past the opening parenthesis of a group: options it may set for the rest are not understood. */
static void open_group(struct reader *r)
{
	bool fine = *r->p != '?' || strncmp(r->p, "?:", 2) == 0 || strncmp(r->p, "?P<", 3) == 0;
	r->give_up |= !fine;
	r->depth++;
	r->run_n = 0;
}

static void step(struct reader *r)
{
	char c = *r->p++;
	if (c == '\\') {
		escape(r);
	} else if (c == '[') {
		skip_class(r);
	} else if (c == '(') {
		open_group(r);
	} else if (is_plain(c) && r->depth == 0) {
		r->run[r->run_n++] = c;
	} else {
		r->run_n = 0;
		r->give_up |= c == '|' && r->depth == 0;
		r->depth -= c == ')' && r->depth > 0;
		if (c == '{') /* digits of a count are not literal */
			r->p += strcspn(r->p, "}");
	}
}

struct slice rewrite_literal(const char *pattern, struct arena *a)
{
	size_t n = strlen(pattern) + 1;
	struct reader r = { .p = pattern, .run = arena_alloc(a, n), .best = arena_alloc(a, n) };
	while (*r.p != '\0' && !r.give_up)
		step(&r);
	return r.give_up ? (struct slice){ NULL, 0 } : (struct slice){ r.best, r.best_n };
}
