/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The manager starts the shared informers, a runner for each controller, the server of web hooks, and
 * one HTTP server for health and metrics. It ends first the servers, which read runners, then the
 * runners, then the informers. */
#include "controller/manager.h"

#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "base/vec.h"
#include "controller/controller.h"
#include "controller/informers_priv.h"
#include "controller/manager_test.h"
#include "controller/runner_priv.h"
#include "http/server.h"
#include "kube/informer/reflector_plan.h"
#include "kube/leader/lease.h"
#include "kube/webhook/hookserver.h"

enum {
	NOT_READY = 503,
	HOOK_LOG_S = 10, /* between two log lines about web hooks */
	SYNC_S = 10,	 /* lists that are not complete after this time are a problem */
};

struct manager {
	struct runner **runners;
	size_t n_runners;
	struct http_server *http;
	struct hookserver *webhooks;
	VEC(struct admission_hook) hooks; /* of all controllers */
	struct kube_server_memory memory;
	struct informers *informers;
	char *identity;
	struct log_limit hook_limit;
	uint64_t started_ns;

	pthread_mutex_t lock; /* guards stop */
	pthread_cond_t cond;
	bool stop;
};

/* ---- health ---- */

static void answer_health(struct manager *manager,
			  bool (*ask)(struct runner *runner, struct strbuf *why),
			  struct http_reply *reply)
{
	bool ok = reply->status != NOT_READY;
	for (size_t i = 0; i < manager->n_runners; i++)
		ok = ask(manager->runners[i], &reply->body) && ok;
	if (ok)
		strbuf_adds(&reply->body, "ok\n");
	else
		reply->status = NOT_READY;
}

static void on_healthz(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	(void)req;
	answer_health(ctx, runner_is_alive, reply);
}

bool manager_is_synced(struct manager *manager)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	for (size_t i = 0; i < manager->n_runners; i++) {
		if (!runner_is_synced(manager->runners[i], &why))
			return false;
	}
	return true;
}

static void on_readyz(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	struct manager *m = ctx;
	(void)req;
	if (m->webhooks != NULL && !hookserver_is_ready(m->webhooks)) {
		strbuf_adds(&reply->body, "web hooks have no certificate yet\n");
		reply->status = NOT_READY;
	}
	answer_health(m, runner_is_synced, reply);
	for (size_t i = 0; i < m->n_runners; i++)
		runner_note(m->runners[i], &reply->body);
}

void manager_report_problems(struct manager *manager, struct strbuf *out)
{
	bool late = clock_mono_ns() - manager->started_ns >= SYNC_S * NS_PER_S;
	for (size_t i = 0; i < manager->n_runners; i++) {
		if (runner_is_alive(manager->runners[i], out) && late)
			IGNORE(runner_is_synced(manager->runners[i], out)); /* it adds the line */
	}
}

static void on_metrics(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	(void)ctx;
	(void)req;
	reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
	metrics_render(&reply->body);
}

static void collect_metrics(void *ctx)
{
	struct manager *m = ctx;
	for (size_t i = 0; i < m->n_runners; i++)
		runner_collect(m->runners[i]);
}

static int start_http(struct manager *manager, const char *listen, struct err_text err)
{
	const struct http_route routes[] = {
		{ .path = "/healthz", .handle = on_healthz, .ctx = manager },
		{ .path = "/readyz", .handle = on_readyz, .ctx = manager },
		{ .path = "/metrics", .handle = on_metrics, .ctx = manager },
	};
	int r = http_server_start(listen, routes, ARRAY_LEN(routes), &manager->http);
	if (r < 0)
		err_text_set(err, "cannot listen on '%s': %s", listen, err_str(r));
	return r;
}

unsigned manager_port(const struct manager *manager)
{
	return manager->http != NULL ? http_server_port(manager->http) : 0;
}

unsigned manager_webhook_port(const struct manager *manager)
{
	return manager->webhooks != NULL ? hookserver_port(manager->webhooks) : 0;
}

/* ---- web hooks ---- */

static void log_webhook_error(void *ctx, const char *text)
{
	struct manager *m = ctx;
	log_limited(&m->hook_limit, LOG_WARNING, "webhooks", "%s; will be tried again", text);
}

static void collect_hooks(struct manager *manager, const struct manager_conf *conf)
{
	for (size_t i = 0; i < conf->n_controllers; i++) {
		for (size_t j = 0; j < conf->controllers[i]->n_hooks; j++) {
			struct admission_hook h = conf->controllers[i]->hooks[j];
			h.ctx = h.ctx != NULL ? h.ctx : runner_hook_ctx(manager->runners[i]);
			vec_push(&manager->hooks, h);
		}
	}
}

const struct admission_hook *manager_hooks(const struct manager *manager, size_t *ret_count)
{
	*ret_count = manager->hooks.n;
	return manager->hooks.v;
}

static int start_webhooks(struct manager *manager, const struct manager_conf *conf,
			  struct err_text err)
{
	struct hookserver_conf hc = *conf->webhooks;
	hc.hooks = manager->hooks.v;
	hc.n_hooks = manager->hooks.n;
	hc.on_error = log_webhook_error;
	hc.ctx = manager;
	if (manager->hooks.n != 0)
		return hookserver_start(&hc, &manager->webhooks, err);
	err_text_set(err, "none of these controllers has web hooks");
	return ERR_CONFIG;
}

/* ---- start and end ---- */

void manager_stop(struct manager *manager)
{
	pthread_mutex_lock(&manager->lock);
	manager->stop = true;
	pthread_cond_signal(&manager->cond);
	pthread_mutex_unlock(&manager->lock);
}

static void on_ended(void *ctx)
{
	manager_stop(ctx);
}

static int end_runners(struct manager *manager)
{
	int result = 0;
	for (size_t i = 0; i < manager->n_runners; i++)
		runner_stop(manager->runners[i]);
	for (size_t i = manager->n_runners; i > 0; i--) {
		int r = runner_join(manager->runners[i - 1]);
		result = r < 0 ? r : result;
	}
	return result;
}

/* Handlers of informers use runners, hooks use stores. */
static void free_runners(struct manager *manager)
{
	if (manager->informers != NULL)
		informers_stop(manager->informers);
	for (size_t i = 0; i < manager->n_runners; i++)
		runner_free(manager->runners[i]);
	informers_free(manager->informers);
	free(manager->runners);
}

static int end_manager(struct manager *manager)
{
	http_server_stop(manager->http); /* its handlers use runners */
	metrics_off_collect(collect_metrics, manager);
	hookserver_stop(manager->webhooks);
	int r = end_runners(manager);
	free_runners(manager);
	vec_done(&manager->hooks);
	pthread_cond_destroy(&manager->cond);
	pthread_mutex_destroy(&manager->lock);
	free(manager->identity);
	free(manager);
	return r;
}

/* On one machine the API is in the same process: only a limit of the command line counts. */
struct controller_writes manager_choose_writes(const struct manager_conf *conf, size_t index)
{
	if (conf->writes != NULL && conf->writes[index].per_s != 0)
		return conf->writes[index];
	if (conf->options != NULL && conf->options->machine != NULL)
		return (struct controller_writes){ .per_s = CONTROLLER_WRITES_UNLIMITED };
	return controller_default_writes(conf->controllers[index]);
}

static int make_runners(struct manager *manager, const struct manager_conf *conf,
			struct err_text err)
{
	struct runner_conf rc = {
		.client = conf->client,
		.lease_client = conf->lease_client != NULL ? conf->lease_client : conf->client,
		.ns = conf->ns,
		.identity = manager->identity,
		.elect = !conf->no_election,
		.times = conf->times,
		.informers = manager->informers,
		.options = conf->options,
		.check = conf->check,
		.ended = on_ended,
		.ctx = manager,
	};
	int r = elect_times_check(&rc.times, err);
	manager->runners = xcalloc(conf->n_controllers, sizeof(struct runner *));
	for (size_t i = 0; r >= 0 && i < conf->n_controllers; i++) {
		rc.controller = conf->controllers[i];
		rc.writes = manager_choose_writes(conf, i);
		rc.rival = conf->rivals != NULL ? conf->rivals[i] : (struct controller_lease){ 0 };
		r = runner_new(&rc, &manager->runners[i], err);
		manager->n_runners += r >= 0;
	}
	return r;
}

static int start_runners(struct manager *manager, const struct manager_conf *conf,
			 struct err_text err)
{
	manager->informers = informers_new(conf->client, conf->ns, &manager->memory);
	int r = make_runners(manager, conf, err);
	if (r >= 0)
		r = informers_create(manager->informers, err);
	for (size_t i = 0; r >= 0 && i < manager->n_runners; i++)
		runner_use_stores(manager->runners[i]);
	if (r >= 0)
		r = informers_start(manager->informers, err);
	for (size_t i = 0; r >= 0 && i < manager->n_runners; i++)
		r = runner_start(manager->runners[i], err);
	return r;
}

int manager_start(const struct manager_conf *conf, struct manager **ret, struct err_text err)
{
	struct manager *m = xcalloc(1, sizeof(*m));
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->cond, NULL);
	m->started_ns = clock_mono_ns();
	m->identity = lease_make_identity();
	m->hook_limit.interval_ns = HOOK_LOG_S * NS_PER_S;
	int r = start_runners(m, conf, err);
	metrics_on_collect(collect_metrics, m);
	if (r >= 0)
		collect_hooks(m, conf);
	if (r >= 0 && conf->webhooks != NULL)
		r = start_webhooks(m, conf, err);
	if (r >= 0 && conf->listen != NULL) /* its handlers use all of them */
		r = start_http(m, conf->listen, err);
	if (r < 0) {
		IGNORE(end_manager(m)); /* the first error counts */
		return r;
	}
	*ret = m;
	return 0;
}

int manager_run(struct manager *manager)
{
	pthread_mutex_lock(&manager->lock);
	while (!manager->stop)
		pthread_cond_wait(&manager->cond, &manager->lock);
	pthread_mutex_unlock(&manager->lock);
	return end_manager(manager);
}
