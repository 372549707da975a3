/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The thread of leader election: sends the requests that the state machine (elect.h) asks for and
 * sleeps until the next one is due. */
#include "kube/leader/lease.h"
#include "kube/leader/lease_test.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kube/client/client.h"
#include "kube/leader/holder_process.h"

enum {
	RELEASE_TIMEOUT_S = 2,
	RELEASE_TRIES = 3,
	RANDOM_BYTES = 6,
	REQUEST_MIN_MS = 100, /* whatever little time is left */
};
enum { OWN, RIVAL, LEASES_MAX };

struct lease {
	struct kube_client *client;
	struct kube_conn *conn;
	char *identity, *names[LEASES_MAX], *namespaces[LEASES_MAX];
	char *process;		/* with an API server on this machine: its name for others there */
	struct lease_conf conf; /* its functions */
	pthread_t thread;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t cond;
	struct elect elect[LEASES_MAX]; /* our own, then that of a rival */
	size_t n_elect;
	bool stop;
	bool woken;
};

/* ---- requests ---- */

static int send_request(struct kube_conn *conn, const struct elect *elect, enum elect_act act,
			const json_t *body, uint64_t timeout_ns, json_t **ret,
			struct kube_status *st)
{
	static const char *const methods[] = {
		[ELECT_GET] = "GET", [ELECT_CREATE] = "POST", [ELECT_UPDATE] = "PUT"
	};
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	const struct api_kind *kind = api_kind_find("coordination.k8s.io", "Lease");
	api_kind_path(&path, kind, elect->ns, act == ELECT_CREATE ? NULL : elect->name, NULL);
	struct kube_request r = {
		.method = methods[act], .path = path.s, .body = body, .timeout_ns = timeout_ns
	};
	return kube_call(conn, &r, ret, st);
}

/* Until when all leases are held; 0: one of them is not. */
static uint64_t deadline_of(const struct lease *lease, uint64_t now_ns)
{
	uint64_t first = UINT64_MAX;
	for (size_t i = 0; i < lease->n_elect; i++)
		first = MIN(first, elect_deadline_ns(&lease->elect[i], now_ns));
	return first;
}

/* A leader's request must not outlive its deadline: there would be no time for another. */
static uint64_t timeout_of(const struct lease *lease, uint64_t now_ns)
{
	uint64_t left = lease->elect[OWN].times.renew_ns / 2;
	for (size_t i = 0; i < lease->n_elect; i++) {
		uint64_t deadline = elect_deadline_ns(&lease->elect[i], now_ns);
		assert(deadline == 0 || deadline > now_ns);
		if (deadline != 0)
			left = MIN(left, (deadline - now_ns) / 2);
	}
	return MAX(left, REQUEST_MIN_MS * NS_PER_MS);
}

static bool is_error(enum elect_act act, int ret)
{
	return ret < 0 && ret != -ECANCELED && ret != ERR_CONFLICT && ret != ERR_DUPLICATE &&
	       !(act == ELECT_GET && ret == ERR_NOTFOUND);
}

static void report_error(const struct lease *lease, const struct elect *elect, int ret,
			 const struct kube_status *st)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "lease '%s' in namespace '%s': %s", elect->name, elect->ns,
		    st->message[0] != '\0' ? st->message : err_str(ret));
	if (lease->conf.on_error != NULL)
		lease->conf.on_error(lease->conf.ctx, text.s);
}

/* Under the lock, which is given up meanwhile: the callback may take others. */
static void report_rival(struct lease *lease, const struct elect *elect)
{
	if (elect != &lease->elect[RIVAL] || elect->leading || elect->take ||
	    elect_holder(elect)[0] == '\0' || lease->conf.on_rival == NULL)
		return;
	CLEANUP(freep) char *holder = xstrdup(elect_holder(elect));
	pthread_mutex_unlock(&lease->lock);
	lease->conf.on_rival(lease->conf.ctx, holder);
	pthread_mutex_lock(&lease->lock);
}

/* Without the lock while the request is under way. */
static void act_on(struct lease *lease, struct elect *elect, enum elect_act act, json_t *body,
		   uint64_t now_ns)
{
	struct kube_status st = { 0 };
	json_t *answer = NULL;
	assert(act != ELECT_WAIT);
	uint64_t timeout = timeout_of(lease, now_ns);
	bool was_held = deadline_of(lease, now_ns) != 0;
	pthread_mutex_unlock(&lease->lock);
	int r = send_request(lease->conn, elect, act, body, timeout, &answer, &st);
	if (r < 0)
		log_debug("kube", "lease %s/%s: %s", elect->ns, elect->name, err_str(r));
	if (is_error(act, r))
		report_error(lease, elect, r, &st);
	pthread_mutex_lock(&lease->lock);
	uint64_t after_ns = clock_mono_ns();
	elect_result(elect, act, r, answer, now_ns, after_ns);
	if (was_held != (deadline_of(lease, after_ns) != 0))
		pthread_cond_broadcast(&lease->cond);
	if (r == 0 && act == ELECT_GET)
		report_rival(lease, elect);
	kube_status_done(&st);
	json_decref(answer);
}

static void wait_until(struct lease *lease, uint64_t until_ns)
{
	struct timespec ts = { .tv_sec = (time_t)(until_ns / NS_PER_S),
			       .tv_nsec = (long)(until_ns % NS_PER_S) };
	pthread_cond_timedwait(&lease->cond, &lease->lock, &ts);
}

/* Without the lock: the callback may take others. */
static bool is_healthy(struct lease *lease)
{
	if (lease->conf.is_healthy == NULL)
		return true;
	pthread_mutex_unlock(&lease->lock);
	bool healthy = lease->conf.is_healthy(lease->conf.ctx);
	pthread_mutex_lock(&lease->lock);
	return healthy;
}

/* Sends the request that is due first, or waits for it. */
static void take_turn(struct lease *lease, uint64_t now_ns)
{
	uint64_t until = UINT64_MAX;
	for (size_t i = 0; i < lease->n_elect; i++) {
		struct elect *elect = &lease->elect[i];
		json_t *body = NULL;
		uint64_t its = UINT64_MAX;
		if (i == RIVAL && elect_deadline_ns(&lease->elect[OWN], now_ns) == 0)
			break;
		enum elect_act act = elect_next(elect, now_ns, clock_wall_ns(), &body, &its);
		if (act != ELECT_WAIT) {
			act_on(lease, elect, act, body, now_ns);
			json_decref(body);
			return;
		}
		until = MIN(until, its);
	}
	wait_until(lease, until);
}

static void *run_election(void *arg)
{
	struct lease *l = arg;
	pthread_mutex_lock(&l->lock);
	while (!l->stop) {
		uint64_t now = clock_mono_ns();
		bool healthy = is_healthy(l);
		if (l->stop)
			break;
		if (healthy)
			take_turn(l, now);
		else
			wait_until(l, now + l->elect[OWN].times.retry_ns);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* ---- start and end ---- */

char *lease_make_identity(void)
{
	char host[256] = "";
	uint8_t random[RANDOM_BYTES];
	if (gethostname(host, sizeof(host) - 1) < 0)
		host[0] = '\0';
	rng_secure(random, sizeof(random));
	return xasprintf("%s_%02x%02x%02x%02x%02x%02x", host, random[0], random[1], random[2],
			 random[3], random[4], random[5]);
}

static void lease_free(struct lease *lease)
{
	kube_conn_free(lease->conn);
	for (size_t i = 0; i < lease->n_elect; i++) {
		elect_done(&lease->elect[i]);
		free(lease->names[i]);
		free(lease->namespaces[i]);
	}
	pthread_cond_destroy(&lease->cond);
	pthread_mutex_destroy(&lease->lock);
	free(lease->identity);
	free(lease->process);
	free(lease);
}

static void add_lease(struct lease *lease, const struct elect_times *times, const char *ns,
		      const char *name)
{
	size_t i = lease->n_elect++;
	assert(i < LEASES_MAX);
	lease->names[i] = xstrdup(name);
	lease->namespaces[i] = xstrdup(ns);
	elect_init(&lease->elect[i], times, lease->namespaces[i], lease->names[i], lease->identity);
}

int lease_start(const struct lease_conf *conf, struct lease **ret, struct err_text err)
{
	struct elect_times times = conf->times;
	int r = elect_times_check(&times, err);
	if (r < 0)
		return r;
	struct lease *l = xcalloc(1, sizeof(*l));
	pthread_condattr_t ca;
	l->client = conf->client;
	l->conf = *conf;
	l->identity = conf->identity != NULL ? xstrdup(conf->identity) : lease_make_identity();
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&l->cond, &ca);
	pthread_condattr_destroy(&ca);
	add_lease(l, &times, conf->ns, conf->name);
	/* Whoever reaches a socket of this machine runs on it. */
	if (kube_client_is_local(conf->client)) {
		l->process = holder_process_self();
		l->elect[OWN].process = l->process;
		l->elect[OWN].has_ended = holder_process_has_ended;
	}
	if (conf->rival_name != NULL)
		add_lease(l, &times, conf->rival_ns != NULL ? conf->rival_ns : conf->ns,
			  conf->rival_name);
	l->conn = kube_conn_new(conf->client, err);
	if (l->conn == NULL) {
		lease_free(l);
		return ERR_CONFIG;
	}
	r = pthread_create(&l->thread, NULL, run_election, l);
	if (r != 0) {
		err_text_set(err, "cannot start a thread: %s", err_str(-r));
		lease_free(l);
		return -r;
	}
	*ret = l;
	return 0;
}

/* The renewal that was cut may have been stored: gives the body the version of today. False: the Lease is not ours. */
static bool read_version(struct lease *lease, struct kube_conn *conn, const struct elect *elect,
			 json_t *body)
{
	struct kube_status st = { 0 };
	json_t *today = NULL;
	int r = send_request(conn, elect, ELECT_GET, NULL, RELEASE_TIMEOUT_S * NS_PER_S, &today,
			     &st);
	bool is_ours = r == 0 &&
		       strcmp(api_get_string(today, "spec.holderIdentity"), lease->identity) == 0;
	if (is_ours)
		json_object_set_new(json_object_get(body, "metadata"), "resourceVersion",
				    json_string(api_resource_version(today)));
	kube_status_done(&st);
	json_decref(today);
	return is_ours;
}

/* A new connection: the other may have been cut in the middle of a request. Others find out by waiting when this
 * fails. */
static void release_lease(struct lease *lease, const struct elect *elect)
{
	char err[512];
	assert(lease->stop); /* the thread has ended */
	json_t *body = elect_release(elect, clock_mono_ns(), clock_wall_ns());
	struct kube_conn *conn = body != NULL ? kube_conn_new(lease->client, ERR_TEXT(err)) : NULL;
	for (int i = 0; conn != NULL && i < RELEASE_TRIES; i++) {
		struct kube_status st = { 0 };
		int r = send_request(conn, elect, ELECT_UPDATE, body, RELEASE_TIMEOUT_S * NS_PER_S,
				     NULL, &st);
		kube_status_done(&st);
		if (r != ERR_CONFLICT || !read_version(lease, conn, elect, body))
			break;
	}
	kube_conn_free(conn);
	json_decref(body);
}

void lease_stop(struct lease *lease)
{
	if (lease == NULL)
		return;
	pthread_mutex_lock(&lease->lock);
	lease->stop = true;
	pthread_cond_broadcast(&lease->cond);
	pthread_mutex_unlock(&lease->lock);
	kube_conn_cancel(lease->conn);
	pthread_join(lease->thread, NULL);
	for (size_t i = lease->n_elect; i-- > 0;) /* those of us that wait are woken last */
		release_lease(lease, &lease->elect[i]);
	lease_free(lease);
}

/* ---- for others ---- */

uint64_t lease_deadline_ns(struct lease *lease)
{
	pthread_mutex_lock(&lease->lock);
	uint64_t r = deadline_of(lease, clock_mono_ns());
	pthread_mutex_unlock(&lease->lock);
	return r;
}

uint64_t lease_end_by_ns(struct lease *lease)
{
	uint64_t first = UINT64_MAX;
	if (lease == NULL)
		return first;
	pthread_mutex_lock(&lease->lock);
	for (size_t i = 0; i < lease->n_elect; i++)
		first = MIN(first, elect_end_by_ns(&lease->elect[i]));
	pthread_mutex_unlock(&lease->lock);
	return first;
}

bool lease_wait(struct lease *lease, bool held)
{
	pthread_mutex_lock(&lease->lock);
	uint64_t deadline;
	for (;;) {
		deadline = deadline_of(lease, clock_mono_ns());
		if (held != (deadline != 0) || lease->woken)
			break;
		if (held)
			wait_until(lease, deadline);
		else
			pthread_cond_wait(&lease->cond, &lease->lock);
	}
	pthread_mutex_unlock(&lease->lock);
	return deadline != 0;
}

void lease_wake(struct lease *lease)
{
	pthread_mutex_lock(&lease->lock);
	lease->woken = true;
	pthread_cond_broadcast(&lease->cond);
	pthread_mutex_unlock(&lease->lock);
}

const char *lease_identity(const struct lease *lease)
{
	return lease->identity;
}
