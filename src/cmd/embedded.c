#include "cmd/embedded.h"

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
	if (apiserver_server_start(&c, &s, err, sizeof(err)) == 0)
		return s;
	cmd_complain(command, "%s", err);
	return NULL;
}

void embedded_done(struct embedded *e)
{
	vec_done(&e->names);
	vec_done(&e->cidrs);
}
