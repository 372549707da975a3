/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any arguments and any body: lines `name=value`, an empty line, a body. */
#include "apiserver/request/options.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void try_all(const struct apiserver_call *c)
{
	struct apiserver_status status = APISERVER_STATUS_INIT;
	struct apiserver_list_options list;
	struct apiserver_write_options write;
	struct apiserver_delete_options remove;
	IGNORE(apiserver_list_options(c, &list, &status));
	for (int k = APISERVER_WRITE_CREATE; k <= APISERVER_WRITE_APPLY; k++)
		IGNORE(apiserver_write_options(c, (enum apiserver_write_kind)k, &write, &status));
	if (apiserver_delete_options(c, &remove, &status) == 0)
		apiserver_delete_options_done(&remove);
	apiserver_status_done(&status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(freep) char *text = xstrndup((const char *)data, n);
	struct apiserver_arg args[APISERVER_ARGS_MAX];
	struct apiserver_call c = { .args = args, .content_type = "", .user_agent = text };
	char *line = text;
	while (*line != '\0' && *line != '\n' && c.n_args < ARRAY_LEN(args)) {
		char *end = strchr(line, '\n'), *eq;
		if (end != NULL)
			*end = '\0';
		eq = strchr(line, '=');
		if (eq != NULL)
			*eq = '\0';
		args[c.n_args++] = (struct apiserver_arg){ line, eq != NULL ? eq + 1 : "" };
		line = end != NULL ? end + 1 : line + strlen(line);
	}
	c.body = slice_of(*line == '\n' ? line + 1 : line);
	try_all(&c);
	return 0;
}
