/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a name must have for a pattern to match it: a text that ends where a label ends, read from
 * the pattern. Found in patterns such as ^(.*)\.apps\.example\.com\.$, whose groups need not be
 * looked into; in others nothing is found, and they are always tried. */
#include "plugin/rewrite/literal.h"

#include <string.h>

struct reader {
	const char *p;
	unsigned depth; /* of groups: what is in them may be optional */
	char *run;	/* literal characters just read */
	size_t run_n;
	char *best; /* the longest up to a dot */
	size_t best_n;
	bool not_literal;
};

/* In a name's text these stand for themselves. */
static bool is_plain(char ch)
{
	return ascii_isdigit(ch) || (ch >= 'a' && ch <= 'z') || ch == '-' || ch == '_';
}

/* A literal dot ends at p. */
static void add_dot(struct reader *reader)
{
	if (reader->depth > 0 || (*reader->p != '\0' && strchr("*?+{", *reader->p) != NULL)) {
		reader->run_n = 0;
		return;
	}
	reader->run[reader->run_n++] = '.';
	if (reader->run_n > reader->best_n) {
		memcpy(reader->best, reader->run, reader->run_n);
		reader->best_n = reader->run_n;
	}
}

/* Past a backslash: punctuation is literal, these letters stand for one character or for none. */
static void read_escape(struct reader *reader)
{
	char c = *reader->p;
	bool letter = ascii_isalpha(c) || ascii_isdigit(c);
	if (c == '\0' || (letter && strchr("dDwWsSbBAz", c) == NULL)) {
		reader->not_literal = true;
		return;
	}
	reader->p++;
	if (c == '.')
		add_dot(reader);
	else
		reader->run_n = 0;
}

/* Past the opening bracket of a class. */
static void skip_class(struct reader *reader)
{
	if (strncmp(reader->p, ".]", 2) == 0) {
		reader->p += 2;
		add_dot(reader);
		return;
	}
	reader->run_n = 0;
	reader->p += *reader->p == '^';
	for (bool first = true; *reader->p != '\0' && (*reader->p != ']' || first); first = false) {
		if (*reader->p == '[') { /* [:alpha:] */
			reader->not_literal = true;
			return;
		}
		reader->p += *reader->p == '\\' && reader->p[1] != '\0' ? 2 : 1;
	}
	reader->p += *reader->p == ']';
}

/* Past the opening parenthesis of a group: options it may set for the rest are not understood. */
static void open_group(struct reader *reader)
{
	bool fine = *reader->p != '?' || strncmp(reader->p, "?:", 2) == 0 ||
		    strncmp(reader->p, "?P<", 3) == 0;
	reader->not_literal |= !fine;
	reader->depth++;
	reader->run_n = 0;
}

static void read_next(struct reader *reader)
{
	char c = *reader->p++;
	if (c == '\\') {
		read_escape(reader);
	} else if (c == '[') {
		skip_class(reader);
	} else if (c == '(') {
		open_group(reader);
	} else if (is_plain(c) && reader->depth == 0) {
		reader->run[reader->run_n++] = c;
	} else {
		reader->run_n = 0;
		reader->not_literal |= c == '|' && reader->depth == 0;
		reader->depth -= c == ')' && reader->depth > 0;
		if (c == '{') /* digits of a count are not literal */
			reader->p += strcspn(reader->p, "}");
	}
}

struct slice rewrite_literal(const char *pattern, struct arena *arena)
{
	size_t n = strlen(pattern) + 1;
	struct reader r = { .p = pattern,
			    .run = arena_alloc(arena, n),
			    .best = arena_alloc(arena, n) };
	while (*r.p != '\0' && !r.not_literal)
		read_next(&r);
	return r.not_literal ? (struct slice){ NULL, 0 } : (struct slice){ r.best, r.best_n };
}
