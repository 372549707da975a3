/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors of commands on standard error: plain text, or a JSON log line if -log-format=json is
 * given. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"

/* The value of --log-format. False: neither text nor json. */
bool cmd_set_log_format(const char *name);
/* Looks for -log-format before the other flags are read, so that errors in these have its form. */
void cmd_find_log_format(int argc, char **argv);
/* `command`: put in front of the text as "fairlead COMMAND: "; NULL: nothing is. */
void cmd_print_error(const char *command, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same for wrong arguments, with a second line that names --help in plain text. EXIT_USAGE. */
int cmd_usage_error(const char *command, const char *why);
