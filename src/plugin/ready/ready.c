/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ready: an HTTP page that answers OK once every plugin with a readiness check, in every block that
 * lists `ready`, is ready; else which ones are not. A second page shows the hash of the running
 * configuration. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "http/server.h"
#include "net/addr.h"
#include "server/config/hash.h"
#include "server/handler.h"
#include "server/resource.h"
#include "server/server.h"
#include "server/setup.h"

enum { UNAVAILABLE = 503 };

enum monitor { UNTIL_READY, CONTINUOUSLY };
static const char *const monitor_words[] = { "until-ready", "continuously", NULL };

struct ready_conf {
	const char *addr;
	int monitor;
	struct resource *watched; /* NULL before prepare and in dry runs */
	struct resource *listener;
};

static const struct opt ready_opts[] = {
	{ "<address>", OPT_STRING, offsetof(struct ready_conf, addr), .def = ":8181",
	  .args = "HOST:PORT", .help = "address of the HTTP server" },
	{ "monitor", OPT_ENUM, offsetof(struct ready_conf, monitor), .def = "until-ready",
	  .words = monitor_words, .repeatable = true, .args = "until-ready|continuously",
	  .help = "whether a plugin that was ready once is checked again" },
};

struct name_list {
	const char **v;
	size_t n, cap;
};

/* An instance with a readiness check. */
struct watched_inst {
	struct plugin_inst *inst;
	bool keep_asking;
	bool was_ready;
};

/* All that is watched; one for the process, shared by the blocks and kept over reloads. */
struct watched {
	pthread_mutex_t lock;	      /* guards the rest; held while instances are asked, so that
					 none is freed meanwhile */
	const struct generation *gen; /* NULL: none serves yet */
	VEC(struct watched_inst) list;
	struct name_list starting; /* plugins of the first generation that may have to wait */
};

static void watched_free(void *value)
{
	struct watched *w = value;
	vec_done(&w->list);
	vec_done(&w->starting);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static int watched_make(void *arg, struct task_owner *tasks, void **ret_value)
{
	(void)tasks;
	struct watched *w = xcalloc(1, sizeof(*w));
	(void)arg;
	pthread_mutex_init(&w->lock, NULL);
	*ret_value = w;
	return 0;
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Sorts the names and appends each once, joined by commas. */
static void add_names(struct name_list *names, struct strbuf *out)
{
	if (names->n > 0)
		qsort(names->v, names->n, sizeof(names->v[0]), compare_names);
	for (size_t i = 0; i < names->n; i++) {
		if (i > 0 && strcmp(names->v[i], names->v[i - 1]) == 0)
			continue;
		strbuf_addf(out, "%s%s", i > 0 ? "," : "", names->v[i]);
	}
}

/* Appends the names of plugins that are not ready. */
static void ask_all(struct watched *watched, struct strbuf *out)
{
	struct name_list names = { 0 };
	for (size_t i = 0; i < watched->list.n; i++) {
		struct watched_inst *e = &watched->list.v[i];
		if (e->was_ready && !e->keep_asking)
			continue;
		e->was_ready = e->inst->plugin->ops.ready(e->inst);
		if (!e->was_ready)
			vec_push(&names, e->inst->plugin->name);
	}
	add_names(&names, out);
	vec_done(&names);
}

/* The page is served while plugins prepare, which may take as long as `kubernetes` waits for its
 * API: no query is answered until the first generation is in force. */
static void say_starting(struct watched *watched, struct strbuf *out)
{
	if (watched->starting.n > 0)
		add_names(&watched->starting, out);
	else
		strbuf_adds(out, "Starting up");
}

static void say_ready(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	struct watched *w = ctx;
	(void)req;
	if (server_is_stopping()) {
		reply->status = UNAVAILABLE;
		strbuf_adds(&reply->body, "Shutting down");
		return;
	}
	pthread_mutex_lock(&w->lock);
	if (w->gen == NULL)
		say_starting(w, &reply->body);
	else
		ask_all(w, &reply->body);
	pthread_mutex_unlock(&w->lock);
	if (reply->body.n > 0) {
		reply->status = UNAVAILABLE;
		log_info("plugin/ready", "Plugins not ready: \"%s\"", reply->body.s);
	} else {
		strbuf_adds(&reply->body, "OK");
	}
}

/* For those who wrote the configuration and want to know whether it is in force (docs/controllers/
 * dnsoperator.md), where they reach HTTP ports only. */
static void say_config(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	(void)ctx;
	(void)req;
	strbuf_addf(&reply->body, "%s\n", config_hash_running().s);
}

struct make_arg {
	const char *addr;
	struct watched *watched;
};

static int listener_make(void *arg, struct task_owner *tasks, void **ret_value)
{
	(void)tasks;
	const struct make_arg *m = arg;
	const struct http_route routes[] = {
		{ .path = "/ready",
		  .methods = HTTP_ANY_METHOD,
		  .handle = say_ready,
		  .ctx = m->watched },
		{ .path = "/config", .handle = say_config },
	};
	struct http_server *http;
	int r = http_server_start(m->addr, routes, ARRAY_LEN(routes), &http);
	if (r < 0)
		return r;
	*ret_value = http;
	return 0;
}

static void listener_free(void *value)
{
	http_server_stop(value);
}

static int ready_parse(struct plugin_inst *self, struct setup *setup)
{
	struct ready_conf *c = self->conf;
	union net_addr a;
	int r = setup_once(setup);
	if (r < 0)
		return r;
	r = setup_options(setup, setup->dir[0], ready_opts, ARRAY_LEN(ready_opts), c, NULL);
	if (r < 0)
		return r;
	if (http_server_address(slice_of(c->addr), &a) < 0)
		return setup_error(setup, setup->dir[0]->arg[0].pos,
				   "'%s' is not an address such as :8181", c->addr);
	return 0;
}

/* Before the listener opens, so that its first reply names them. */
static void note_starting(struct watched *watched, struct block *block)
{
	struct plugin_inst *inst;
	pthread_mutex_lock(&watched->lock);
	for (size_t i = 0; watched->gen == NULL && (inst = block_inst(block, i)) != NULL; i++) {
		if (inst->plugin->ops.ready != NULL)
			vec_push(&watched->starting, inst->plugin->name);
	}
	pthread_mutex_unlock(&watched->lock);
}

static int ready_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct ready_conf *c = self->conf;
	if (prepare->dry)
		return 0;
	int r = resource_get("ready", watched_make, NULL, watched_free, &c->watched);
	if (r < 0)
		return r;
	note_starting(c->watched->value, self->block);
	CLEANUP(freep) char *key = xasprintf("ready %s", c->addr);
	struct make_arg arg = { c->addr, c->watched->value };
	r = resource_get(key, listener_make, &arg, listener_free, &c->listener);
	if (r < 0) {
		resource_put(TAKE_PTR(c->watched));
		return srcerr_set(prepare->err, self->pos, "cannot listen on '%s': %s", c->addr,
				  err_str(r));
	}
	return 0;
}

/* The first block of a new generation replaces the old one, whose instances are freed. */
static void ready_commit(struct plugin_inst *self)
{
	const struct ready_conf *c = self->conf;
	assert(c->watched != NULL);
	struct watched *w = c->watched->value;
	const struct generation *gen = block_generation(self->block);
	struct plugin_inst *inst;
	pthread_mutex_lock(&w->lock);
	if (w->gen != gen)
		w->list.n = 0;
	w->gen = gen;
	w->starting.n = 0;
	for (size_t i = 0; (inst = block_inst(self->block, i)) != NULL; i++) {
		if (inst->plugin->ops.ready == NULL)
			continue;
		vec_push(&w->list, (struct watched_inst){
					   .inst = inst,
					   .keep_asking = c->monitor == CONTINUOUSLY,
				   });
	}
	pthread_mutex_unlock(&w->lock);
}

/* Runs when a generation has served its last query and before any of its instances is torn down,
 * the only moment left to forget them if no newer generation has. */
static void ready_worker_done(struct plugin_inst *self, struct worker *worker)
{
	const struct ready_conf *c = self->conf;
	struct watched *w = c->watched->value;
	(void)worker;
	pthread_mutex_lock(&w->lock);
	if (w->gen == block_generation(self->block)) {
		w->gen = NULL;
		w->list.n = 0;
	}
	pthread_mutex_unlock(&w->lock);
}

static void ready_teardown(struct plugin_inst *self)
{
	struct ready_conf *c = self->conf;
	resource_put(TAKE_PTR(c->listener));
	resource_put(TAKE_PTR(c->watched));
}

const struct plugin ready_plugin = {
	.name = "ready",
	.opts = ready_opts,
	.n_opts = ARRAY_LEN(ready_opts),
	.conf_size = sizeof(struct ready_conf),
	.parse = ready_parse,
	.prepare = ready_prepare,
	.commit = ready_commit,
	.worker_done = ready_worker_done,
	.teardown = ready_teardown,
};
