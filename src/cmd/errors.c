/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors of commands on standard error, in the form that -log-format asks for. */
#include "cmd/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/cmd.h"

bool cmd_set_log_format(const char *name)
{
	bool json = strcmp(name, "json") == 0;
	if (json)
		log_set_format(LOG_JSON);
	return json || strcmp(name, "text") == 0;
}

void cmd_find_log_format(int argc, char **argv)
{
	static const char name[] = "log-format";
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];
		if (word[0] != '-' || strcmp(word, "--") == 0)
			continue;
		word += word[1] == '-' ? 2 : 1;
		if (strncmp(word, name, sizeof(name) - 1) != 0)
			continue;
		const char *value = word + sizeof(name) - 1;
		if (*value == '\0')
			value = i + 1 < argc ? argv[i + 1] : "";
		else if (*value++ != '=')
			continue;
		log_set_format(strcmp(value, "json") == 0 ? LOG_JSON : LOG_TEXT);
	}
}

void cmd_print_error(const char *command, const char *fmt, ...)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	va_list ap;
	if (command != NULL)
		strbuf_addf(&text, "fairlead %s: ", command);
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	if (log_get_format() == LOG_JSON)
		log_msg(LOG_FATAL, NULL, "%s", text.s);
	else
		fprintf(stderr, "%s\n", text.s);
}

int cmd_usage_error(const char *command, const char *why)
{
	cmd_print_error(command, "%s", why);
	if (log_get_format() == LOG_TEXT)
		fprintf(stderr, "Try `fairlead %s --help`.\n", command);
	return EXIT_USAGE;
}
