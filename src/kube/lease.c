/* The thread: asks the machine what to do, does it, sleeps until its time. */
#include "kube/lease.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/kind.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kube/conn_priv.h"

enum {
	RELEASE_TIMEOUT_S = 2,
	RANDOM_BYTES = 6,
	REQUEST_MIN_MS = 100, /* whatever little time is left */
};

struct lease {
	struct kube_client *client;
	struct kube_conn *conn;
	char *ns, *name, *identity;
	void (*trouble)(void *ctx, const char *text);
	void *trouble_ctx;
	pthread_t thread;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t cond;
	struct elect elect;
	bool stop;
	bool woken;
	char err[512];
};

/* ---- requests ---- */

static int ask(struct lease *l, struct kube_conn *conn, enum elect_act act, const json_t *body,
	       uint64_t timeout_ns, json_t **ret, struct kube_status *st)
{
	static const char *const methods[] = {
		[ELECT_GET] = "GET", [ELECT_CREATE] = "POST", [ELECT_UPDATE] = "PUT"
	};
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	const struct api_kind *kind = api_kind_find("coordination.k8s.io", "Lease");
	api_kind_path(&path, kind, l->ns, act == ELECT_CREATE ? NULL : l->name, NULL);
	struct kube_request r = {
		.method = methods[act], .path = path.s, .body = body, .timeout_ns = timeout_ns
	};
	return kube_call(conn, &r, ret, st);
}

/* A leader's request must not outlive its deadline: there would be no time for another. */
static uint64_t timeout_of(const struct lease *l, uint64_t now_ns)
{
	uint64_t deadline = elect_deadline_ns(&l->elect, now_ns);
	uint64_t left = deadline != 0 ? (deadline - now_ns) / 2 : l->elect.times.renew_ns / 2;
	return MAX(left, REQUEST_MIN_MS * NS_PER_MS);
}

static bool is_trouble(enum elect_act act, int r)
{
	return r < 0 && r != -ECANCELED && r != ERR_CONFLICT && r != ERR_DUPLICATE &&
	       !(act == ELECT_GET && r == ERR_NOTFOUND);
}

/* Without the lock while the request is under way. */
static void act_on(struct lease *l, enum elect_act act, json_t *body, uint64_t now_ns)
{
	struct kube_status st = { 0 };
	json_t *answer = NULL;
	uint64_t timeout = timeout_of(l, now_ns);
	bool was_held = elect_deadline_ns(&l->elect, now_ns) != 0;
	pthread_mutex_unlock(&l->lock);
	int r = ask(l, l->conn, act, body, timeout, &answer, &st);
	const char *why = !is_trouble(act, r)	  ? ""
			  : st.message[0] != '\0' ? st.message
						  : err_str(r);
	if (r < 0)
		log_debug("kube", "lease %s/%s: %s", l->ns, l->name, err_str(r));
	if (why[0] != '\0' && l->trouble != NULL)
		l->trouble(l->trouble_ctx, why);
	pthread_mutex_lock(&l->lock);
	snprintf(l->err, sizeof(l->err), "%s", why);
	uint64_t after_ns = clock_mono_ns();
	elect_result(&l->elect, act, r, answer, now_ns, after_ns);
	if (was_held != (elect_deadline_ns(&l->elect, after_ns) != 0))
		pthread_cond_broadcast(&l->cond);
	kube_status_done(&st);
	json_decref(answer);
}

static void wait_until(struct lease *l, uint64_t until_ns)
{
	struct timespec ts = { .tv_sec = (time_t)(until_ns / NS_PER_S),
			       .tv_nsec = (long)(until_ns % NS_PER_S) };
	pthread_cond_timedwait(&l->cond, &l->lock, &ts);
}

static void *run(void *arg)
{
	struct lease *l = arg;
	pthread_mutex_lock(&l->lock);
	while (!l->stop) {
		uint64_t now = clock_mono_ns(), until = 0;
		json_t *body = NULL;
		enum elect_act act = elect_next(&l->elect, now, clock_wall_ns(), &body, &until);
		if (act == ELECT_WAIT)
			wait_until(l, until);
		else
			act_on(l, act, body, now);
		json_decref(body);
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

static void lease_free(struct lease *l)
{
	kube_conn_free(l->conn);
	elect_done(&l->elect);
	pthread_cond_destroy(&l->cond);
	pthread_mutex_destroy(&l->lock);
	free(l->ns);
	free(l->name);
	free(l->identity);
	free(l);
}

int lease_start(const struct lease_conf *c, struct lease **ret, char *err, size_t err_n)
{
	struct elect_times times = c->times;
	int r = elect_times_check(&times, err, err_n);
	if (r < 0)
		return r;
	struct lease *l = xcalloc(1, sizeof(*l));
	pthread_condattr_t ca;
	l->client = c->client;
	l->ns = xstrdup(c->ns);
	l->name = xstrdup(c->name);
	l->trouble = c->trouble;
	l->trouble_ctx = c->ctx;
	l->identity = c->identity != NULL ? xstrdup(c->identity) : lease_make_identity();
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&l->cond, &ca);
	pthread_condattr_destroy(&ca);
	elect_init(&l->elect, &times, l->ns, l->name, l->identity);
	l->conn = kube_conn_new(c->client, err, err_n);
	if (l->conn == NULL) {
		lease_free(l);
		return ERR_CONFIG;
	}
	l->conn->urgent = true;
	r = pthread_create(&l->thread, NULL, run, l);
	if (r != 0) {
		snprintf(err, err_n, "cannot start a thread: %s", err_str(-r));
		lease_free(l);
		return -r;
	}
	*ret = l;
	return 0;
}

/* A new connection: the other may have been cut in the middle of a request. */
static void release(struct lease *l)
{
	char err[512];
	json_t *body = elect_release(&l->elect, clock_mono_ns(), clock_wall_ns());
	struct kube_conn *conn = body != NULL ? kube_conn_new(l->client, err, sizeof(err)) : NULL;
	if (conn != NULL) {
		struct kube_status st = { 0 };
		conn->urgent = true;
		/* Others find out by waiting when this fails. */
		IGNORE(ask(l, conn, ELECT_UPDATE, body, RELEASE_TIMEOUT_S * NS_PER_S, NULL, &st));
		kube_status_done(&st);
		kube_conn_free(conn);
	}
	json_decref(body);
}

void lease_stop(struct lease *l)
{
	if (l == NULL)
		return;
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_broadcast(&l->cond);
	pthread_mutex_unlock(&l->lock);
	kube_conn_cancel(l->conn);
	pthread_join(l->thread, NULL);
	release(l);
	lease_free(l);
}

/* ---- for others ---- */

uint64_t lease_deadline_ns(struct lease *l)
{
	pthread_mutex_lock(&l->lock);
	uint64_t r = elect_deadline_ns(&l->elect, clock_mono_ns());
	pthread_mutex_unlock(&l->lock);
	return r;
}

bool lease_is_held(struct lease *l)
{
	return lease_deadline_ns(l) != 0;
}

bool lease_wait(struct lease *l, bool held)
{
	pthread_mutex_lock(&l->lock);
	uint64_t deadline;
	for (;;) {
		deadline = elect_deadline_ns(&l->elect, clock_mono_ns());
		if (held != (deadline != 0) || l->woken)
			break;
		if (held)
			wait_until(l, deadline);
		else
			pthread_cond_wait(&l->cond, &l->lock);
	}
	pthread_mutex_unlock(&l->lock);
	return deadline != 0;
}

void lease_wake(struct lease *l)
{
	pthread_mutex_lock(&l->lock);
	l->woken = true;
	pthread_cond_broadcast(&l->cond);
	pthread_mutex_unlock(&l->lock);
}

void lease_status(struct lease *l, char *err, size_t err_n, char *holder, size_t holder_n)
{
	pthread_mutex_lock(&l->lock);
	snprintf(err, err_n, "%s", l->err);
	snprintf(holder, holder_n, "%s", elect_holder(&l->elect));
	pthread_mutex_unlock(&l->lock);
}

const char *lease_identity(const struct lease *l)
{
	return l->identity;
}
