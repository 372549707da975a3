/* SPDX-License-Identifier: GPL-3.0-or-later */
/* health: an HTTP page that answers OK as long as the process lives, asked by ourselves once a
 * second so that a process too busy to answer shows in the metrics. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/server.h"
#include "net/addr.h"
#include "plugin/health/selfcheck.h"
#include "server/handler.h"
#include "server/resource.h"
#include "server/setup.h"
#include "net/task.h"

static const uint64_t check_interval_ns = NS_PER_S;

struct health_conf {
	const char *addr;
	int64_t lameduck_ns;
	struct resource *listener; /* NULL before prepare and in dry runs */
};

static const struct opt health_opts[] = {
	{ "<address>", OPT_STRING, offsetof(struct health_conf, addr), .def = ":8080",
	  .args = "HOST:PORT", .help = "address of the HTTP server" },
	{ "lameduck", OPT_DURATION, offsetof(struct health_conf, lameduck_ns), 0, INT64_MAX,
	  .def = "0s", .repeatable = true,
	  .help = "how long to keep serving after the signal to stop" },
};

/* The page of one address, kept over reloads, and the task that asks it. */
struct health_listener {
	struct http_server *http;
	char *addr; /* to probe, with the port that was assigned */
};

static void say_ok(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	(void)ctx;
	(void)req;
	strbuf_adds(&reply->body, "OK");
}

static void check_listener(void *ctx)
{
	const struct health_listener *l = ctx;
	health_selfcheck(l->addr);
}

static void listener_free(void *value)
{
	struct health_listener *l = value;
	http_server_stop(l->http);
	free(l->addr);
	free(l);
}

static int listener_make(void *arg, struct task_owner *tasks, void **ret_value)
{
	static const struct http_route route = { .path = "/health",
						 .methods = HTTP_ANY_METHOD,
						 .handle = say_ok };
	const char *addr = arg;
	struct http_server *http;
	int r = http_server_start(addr, &route, 1, &http);
	if (r < 0)
		return r;
	struct health_listener *l = xcalloc(1, sizeof(*l));
	l->http = http;
	l->addr = xasprintf("%.*s:%u", (int)(strrchr(addr, ':') - addr), addr,
			    http_server_port(http));
	health_selfcheck_init();
	task_every(tasks, check_interval_ns, check_listener, l);
	*ret_value = l;
	return 0;
}

/* Several stanzas in a block add up, the last word on each point counts. */
static int health_parse(struct plugin_inst *self, struct setup *setup)
{
	struct health_conf *c = self->conf;
	struct opt_ctx ctx = { .arena = setup->arena, .conf = c, .err = setup->err };
	union net_addr a;
	opt_defaults(health_opts, ARRAY_LEN(health_opts), &ctx);
	for (size_t i = 0; i < setup->n_dir; i++) {
		const struct corefile_dir *d = setup->dir[i];
		const struct opt_line line = { d->name, d->arg, d->n_arg };
		int r = opt_parse_args(health_opts, ARRAY_LEN(health_opts), &line, &ctx);
		if (r < 0)
			return r;
		if (http_server_address(slice_of(c->addr), &a) < 0)
			return setup_error(setup, d->arg[0].pos,
					   "'%s' is not an address such as :8080", c->addr);
		r = setup_body(setup, d, health_opts, ARRAY_LEN(health_opts), c, NULL);
		if (r < 0)
			return r;
	}
	setup->conf->lameduck_ns = c->lameduck_ns;
	return 0;
}

static int health_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct health_conf *c = self->conf;
	if (prepare->dry)
		return 0;
	CLEANUP(freep) char *key = xasprintf("health %s", c->addr);
	CLEANUP(freep) char *addr = xstrdup(c->addr);
	int r = resource_get(key, listener_make, addr, listener_free, &c->listener);
	if (r < 0)
		return srcerr_set(prepare->err, self->pos, "cannot listen on '%s': %s", c->addr,
				  err_str(r));
	return 0;
}

static void health_teardown(struct plugin_inst *self)
{
	struct health_conf *c = self->conf;
	resource_put(TAKE_PTR(c->listener));
}

const struct plugin health_plugin = {
	.name = "health",
	.opts = health_opts,
	.n_opts = ARRAY_LEN(health_opts),
	.conf_size = sizeof(struct health_conf),
	.parse = health_parse,
	.prepare = health_prepare,
	.teardown = health_teardown,
};
