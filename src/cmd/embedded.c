/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starts the embedded API for `fairlead api` and `fairlead up`, and logs errors of its store. */
#include "cmd/embedded.h"

#include <errno.h>
#include <time.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/errors.h"

static void log_store_error(void *ctx, const char *text)
{
	(void)ctx;
	log_error("api", "%s", text);
}

/* Ended by NULL, as the server takes lists. */
static const char *const *list_of(struct flag_values *values)
{
	if (values->n == 0)
		return NULL;
	vec_push(values, NULL);
	return values->v;
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
	struct apiserver_server *s;
	char err[700] = "";
	struct apiserver_server_conf c = { .dir = embedded->data,
					   .listen = embedded->listen,
					   .names = list_of(&embedded->names),
					   .service_cidrs = list_of(&embedded->cidrs),
					   .version = FAIRLEAD_VERSION,
					   .controllers = embedded->controllers,
					   .admission = embedded->admission,
					   .on_error = log_store_error };
	uint64_t first_ns = clock_mono_ns();
	int r;
	do
		r = apiserver_server_start(&c, &s, ERR_TEXT(err));
	while (r < 0 && embedded_retry(r, first_ns));
	if (r == 0)
		return s;
	cmd_print_error(command, "%s", err);
	return NULL;
}

void embedded_done(struct embedded *embedded)
{
	vec_done(&embedded->names);
	vec_done(&embedded->cidrs);
}
