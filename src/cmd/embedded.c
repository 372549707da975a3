/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starts the embedded API for `fairlead api` and `fairlead up`, and logs errors of its store. */
#include "cmd/embedded.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/errors.h"

static void log_store_error(void *ctx, const char *text)
{
	(void)ctx;
	log_error("api", "%s", text);
}

/* A copy that ends with NULL, as the API server accepts lists; NULL for an empty list. The flag's own
 * list stays as it was parsed: others read it later. */
static const char **copy_list(const struct flag_values *values)
{
	if (values->n == 0)
		return NULL;
	const char **copy = xcalloc(values->n + 1, sizeof(*copy));
	memcpy(copy, values->v, values->n * sizeof(*copy));
	return copy;
}

bool embedded_retry(int ret, uint64_t first_ns)
{
	static const struct timespec pause = { .tv_nsec = 50 * (long)NS_PER_MS };
	if ((ret != -EADDRINUSE && ret != ERR_BUSY) ||
	    clock_mono_ns() >= first_ns + EMBEDDED_RETRY_NS)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

struct apiserver_server *embedded_start(struct embedded *embedded, const char *command)
{
	struct apiserver_server *server = NULL;
	char err[700] = "";
	assert(embedded->server_names == NULL && embedded->server_cidrs == NULL);
	embedded->server_names = copy_list(&embedded->names);
	embedded->server_cidrs = copy_list(&embedded->cidrs);
	struct apiserver_server_conf conf = { .dir = embedded->data,
					      .listen = embedded->listen,
					      .names = embedded->server_names,
					      .service_cidrs = embedded->server_cidrs,
					      .version = FAIRLEAD_VERSION,
					      .controllers = embedded->controllers,
					      .admission = embedded->admission,
					      .on_error = log_store_error };
	uint64_t first_ns = clock_mono_ns();
	int r;
	do
		r = apiserver_server_start(&conf, &server, ERR_TEXT(err));
	while (r < 0 && embedded_retry(r, first_ns));
	if (r == 0)
		return server;
	cmd_print_error(command, "%s", err);
	return NULL;
}

void embedded_done(struct embedded *embedded)
{
	free(embedded->server_names);
	free(embedded->server_cidrs);
	vec_done(&embedded->names);
	vec_done(&embedded->cidrs);
}
