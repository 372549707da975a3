/* Go-style flags. */
#include "cmd/flags.h"

#include <string.h>

#include "base/compiler.h"

static const struct flag *find(const struct flag *f, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		if (strlen(f[i].name) == len && memcmp(f[i].name, name, len) == 0)
			return &f[i];
	}
	return NULL;
}

static int set_switch(const struct flag *f, const char *text, char *why, size_t why_n)
{
	/* The words of Go's strconv.ParseBool. */
	static const char *const words[][6] = {
		{ "0", "f", "F", "false", "FALSE", "False" },
		{ "1", "t", "T", "true", "TRUE", "True" },
	};
	if (text == NULL) {
		*f->set = true;
		return 0;
	}
	for (size_t i = 0; i < 2 * ARRAY_LEN(words[0]); i++) {
		if (strcmp(text, words[i % 2][i / 2]) == 0) {
			*f->set = i % 2 == 1;
			return 0;
		}
	}
	snprintf(why, why_n, "flag -%s is true or false, not '%s'", f->name, text);
	return -1;
}

int flags_parse(const struct flag *f, size_t n, int argc, char **argv, char *why, size_t why_n)
{
	int i = 1;
	for (; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
		const char *name = argv[i] + (argv[i][1] == '-' ? 2 : 1);
		if (name[0] == '\0')
			return i + 1; /* `--` ends the flags */
		if (name[0] == '-' || name[0] == '=') {
			snprintf(why, why_n, "bad flag syntax: %s", argv[i]);
			return -1;
		}
		size_t len = strcspn(name, "=");
		const char *text = name[len] == '=' ? name + len + 1 : NULL;
		const struct flag *x = find(f, n, name, len);
		if (x == NULL && (strcmp(name, "h") == 0 || strcmp(name, "help") == 0))
			return -2;
		if (x == NULL) {
			snprintf(why, why_n, "flag provided but not defined: -%.*s", (int)len,
				 name);
			return -1;
		}
		if (x->set != NULL) {
			if (set_switch(x, text, why, why_n) < 0)
				return -1;
			continue;
		}
		if (text == NULL && i + 1 >= argc) {
			snprintf(why, why_n, "flag needs an argument: -%s", x->name);
			return -1;
		}
		*x->value = text != NULL ? text : argv[++i];
	}
	return i;
}

void flags_help(const struct flag *f, size_t n, FILE *out)
{
	for (size_t i = 0; i < n; i++)
		fprintf(out, "  -%s%s%s\n        %s\n", f[i].name, f[i].arg != NULL ? " " : "",
			f[i].arg != NULL ? f[i].arg : "", f[i].help);
}
