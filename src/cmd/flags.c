/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses command-line flags by a table, in Go's syntax, and prints their help. */
#include "cmd/flags.h"

#include <string.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/vec.h"

static const struct flag *find_flag(const struct flag *flag, size_t count, const char *name,
				    size_t len)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(flag[i].name) == len && memcmp(flag[i].name, name, len) == 0)
			return &flag[i];
	}
	return NULL;
}

static int set_switch(const struct flag *flag, const char *text, struct err_text why)
{
	/* The words of Go's strconv.ParseBool. */
	static const char *const words[][6] = {
		{ "0", "f", "F", "false", "FALSE", "False" },
		{ "1", "t", "T", "true", "TRUE", "True" },
	};
	if (text == NULL) {
		*flag->set = true;
		return 0;
	}
	for (size_t i = 0; i < 2 * ARRAY_LEN(words[0]); i++) {
		if (strcmp(text, words[i % 2][i / 2]) == 0) {
			*flag->set = i % 2 == 1;
			return 0;
		}
	}
	err_text_set(why, "flag -%s is true or false, not '%s'", flag->name, text);
	return -1;
}

/* The flag at argv[*i]; *i is left on its last word. 0, -1, -2, or 1 for `--`, which ends flags. */
static int parse_one(const struct flag *flag, size_t count, int argc, char **argv, int *index,
		     struct err_text why)
{
	const char *word = argv[*index];
	const char *name = word + (word[1] == '-' ? 2 : 1);
	if (name[0] == '\0')
		return 1;
	if (name[0] == '-' || name[0] == '=') {
		err_text_set(why, "bad flag syntax: %s", word);
		return -1;
	}
	size_t len = strcspn(name, "=");
	const char *text = name[len] == '=' ? name + len + 1 : NULL;
	const struct flag *x = find_flag(flag, count, name, len);
	if (x == NULL && (strcmp(name, "h") == 0 || strcmp(name, "help") == 0))
		return -2;
	if (x == NULL) {
		err_text_set(why, "flag provided but not defined: -%.*s", (int)len, name);
		return -1;
	}
	if (x->set != NULL)
		return set_switch(x, text, why);
	if (text == NULL && *index + 1 >= argc) {
		err_text_set(why, "flag needs an argument: -%s", x->name);
		return -1;
	}
	if (text == NULL)
		text = argv[++*index];
	if (x->values != NULL)
		vec_push(x->values, text);
	else
		*x->value = text;
	return 0;
}

static bool is_flag(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

int flags_parse(const struct flag *flag, size_t count, int argc, char **argv, struct err_text why)
{
	int i = 1;
	for (; i < argc && is_flag(argv[i]); i++) {
		int r = parse_one(flag, count, argc, argv, &i, why);
		if (r < 0)
			return r;
		if (r > 0)
			return i + 1;
	}
	return i;
}

int flags_parse_mixed(const struct flag *flag, size_t count, int argc, char **argv,
		      struct flag_values *ret, struct err_text why)
{
	bool ended = false;
	for (int i = 1; i < argc; i++) {
		int r = 0;
		if (!ended && is_flag(argv[i]))
			r = parse_one(flag, count, argc, argv, &i, why);
		else
			vec_push(ret, argv[i]);
		if (r < 0)
			return r;
		ended = ended || r > 0;
	}
	return 0;
}

void flags_help(const struct flag *flag, size_t count, FILE *out)
{
	for (size_t i = 0; i < count; i++)
		fprintf(out, "  -%s%s%s\n        %s\n", flag[i].name,
			flag[i].arg != NULL ? " " : "", flag[i].arg != NULL ? flag[i].arg : "",
			flag[i].help);
}
