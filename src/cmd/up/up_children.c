/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the flag --child: a name, a path and words. */
#include "cmd/up/up_children.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"

struct up_child {
	char *text; /* cut into name and words */
	const char *words[UP_CHILD_WORDS_MAX + 1];
};

/* It is part of lines of the log and of `fairlead status`. */
static bool is_name(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-";
	size_t len = strlen(text);
	return len > 0 && len <= UP_CHILD_NAME_MAX && strspn(text, letters) == len;
}

static int split_words(char *text, struct up_child *child, struct err_text why)
{
	size_t n = 0;
	for (char *word; (word = strsep(&text, " ")) != NULL;) {
		if (word[0] == '\0')
			continue;
		if (n == UP_CHILD_WORDS_MAX) {
			err_text_set(why, "--child: '%s' has more than %d words", child->text,
				     UP_CHILD_WORDS_MAX);
			return -1;
		}
		child->words[n++] = word;
	}
	if (n == 0 || strchr(child->words[0], '/') == NULL) {
		err_text_set(why, "--child: '%s' needs the path of a program, with a '/'",
			     child->text);
		return -1;
	}
	return 0;
}

static bool is_taken(const struct up_children *children, const char *name)
{
	for (size_t i = 0; i < children->n; i++) {
		if (strcmp(children->v[i].name, name) == 0)
			return true;
	}
	return false;
}

static int read_child(const char *value, const struct up_children *children, struct up_child *child,
		      struct err_text why)
{
	char *rest = child->text = xstrdup(value);
	strsep(&rest, "=");
	if (rest == NULL || !is_name(child->text)) {
		err_text_set(why,
			     "--child: expected NAME=PATH [ARG]..., with a name of at most %d "
			     "letters, digits and dashes, got '%.64s'",
			     UP_CHILD_NAME_MAX, value);
		return -1;
	}
	if (is_taken(children, child->text)) {
		err_text_set(why, "--child: '%s' is named twice", child->text);
		return -1;
	}
	return split_words(rest, child, why);
}

static void up_child_free(struct up_child *child)
{
	free(child->text);
	free(child);
}

int up_children_parse(const struct flag_values *values, struct up_children *ret,
		      struct err_text why)
{
	for (size_t i = 0; i < values->n; i++) {
		if (ret->n == UP_CHILDREN_MAX) {
			err_text_set(why, "--child: more than %d programs", UP_CHILDREN_MAX);
			return -1;
		}
		struct up_child *child = xcalloc(1, sizeof(*child));
		if (read_child(values->v[i], ret, child, why) < 0) {
			up_child_free(child);
			return -1;
		}
		ret->memory[ret->n] = child;
		ret->v[ret->n++] = (struct supervise_program){ child->text, child->words };
	}
	return 0;
}

int up_children_add(struct up_children *children, const char *name, const char *const *words,
		    struct err_text why)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (children->n == UP_CHILDREN_MAX || is_taken(children, name)) {
		err_text_set(why, "--child: no room for '%s', or another one has its name", name);
		return -1;
	}
	struct up_child *child = xcalloc(1, sizeof(*child));
	size_t n = 0;
	strbuf_addf(&text, "%s", name);
	strbuf_addc(&text, '\0');
	for (; words[n] != NULL; n++) {
		strbuf_adds(&text, words[n]);
		strbuf_addc(&text, '\0');
	}
	child->text = xmemdup(text.s, text.n);
	const char *at = child->text + strlen(name) + 1;
	for (size_t i = 0; i < n && i < UP_CHILD_WORDS_MAX; i++, at += strlen(at) + 1)
		child->words[i] = at;
	children->memory[children->n] = child;
	children->v[children->n++] = (struct supervise_program){ child->text, child->words };
	return 0;
}

void up_children_done(struct up_children *children)
{
	for (size_t i = 0; i < children->n; i++)
		up_child_free(children->memory[i]);
	children->n = 0;
}
