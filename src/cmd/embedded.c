#include "cmd/embedded.h"

#include <errno.h>
#include <time.h>

#include "base/err.h"
#include "base/log.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/complain.h"

static void trouble(void *ctx, const char *text)
{
	(void)ctx;
	log_error("api", "%s", text);
}

/* Ended by NULL, as the server takes lists. */
static const char *const *list_of(struct flag_values *v)
{
	if (v->n == 0)
		return NULL;
	vec_push(v, NULL);
	return v->v;
}

bool embedded_retry(int r, uint64_t first_ns)
{
	static const struct timespec pause = { .tv_nsec = 50 * (long)NS_PER_MS };
	if ((r != -EADDRINUSE && r != ERR_BUSY) || clock_mono_ns() >= first_ns + EMBEDDED_RETRY_NS)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

struct apiserver_server *embedded_start(struct embedded *e, const char *command)
{
	struct apiserver_server *s;
	char err[700] = "";
	struct apiserver_server_conf c = { .dir = e->data,
					   .listen = e->listen,
					   .names = list_of(&e->names),
					   .service_cidrs = list_of(&e->cidrs),
					   .version = FAIRLEAD_VERSION,
					   .trouble = trouble };
	uint64_t first_ns = clock_mono_ns();
	int r;
	do
		r = apiserver_server_start(&c, &s, err, sizeof(err));
	while (r < 0 && embedded_retry(r, first_ns));
	if (r == 0)
		return s;
	cmd_complain(command, "%s", err);
	return NULL;
}

void embedded_done(struct embedded *e)
{
	vec_done(&e->names);
	vec_done(&e->cidrs);
}
