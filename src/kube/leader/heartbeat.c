/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The thread of a heartbeat. The Lease is read once, then written with the version of the last write:
 * one request for each beat. */
#include "kube/leader/heartbeat.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <jansson.h>

#include "api/kind.h"
#include "api/time.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "kube/client/client.h"

enum { TRIES = 2 }; /* another process may have written the Lease, or deleted it */

struct heartbeat {
	struct heartbeat_conf conf;
	char *ns, *name, *holder;
	struct kube_conn *conn;
	json_t *lease; /* as last read or written; NULL: not known. The thread's own */
	pthread_t thread;

	pthread_mutex_t lock; /* guards `stop` */
	pthread_cond_t cond;
	bool stop;
};

/* ---- a beat ---- */

static json_t *make_lease(const struct heartbeat *heartbeat)
{
	return json_pack("{s:s, s:s, s:{s:s, s:s}, s:{}}", "apiVersion", "coordination.k8s.io/v1",
			 "kind", "Lease", "metadata", "name", heartbeat->name, "namespace",
			 heartbeat->ns, "spec");
}

/* The Lease with this moment in it; fields of others stay. */
static json_t *make_beat(const struct heartbeat *heartbeat, uint64_t wall_ns)
{
	char now[API_TIME_TEXT_MAX];
	json_t *lease =
		heartbeat->lease != NULL ? json_deep_copy(heartbeat->lease) : make_lease(heartbeat);
	json_t *spec = json_object_get(lease, "spec");
	if (!json_is_object(spec)) {
		spec = json_object();
		json_object_set_new(lease, "spec", spec);
	}
	json_object_set_new(spec, "holderIdentity", json_string(heartbeat->holder));
	json_object_set_new(spec, "leaseDurationSeconds",
			    json_integer((json_int_t)(heartbeat->conf.interval_ns / NS_PER_S)));
	json_object_set_new(spec, "renewTime", json_string(api_micro_time_format(wall_ns, now)));
	return lease;
}

static void set_known(struct heartbeat *heartbeat, json_t *lease)
{
	json_decref(heartbeat->lease);
	heartbeat->lease = lease;
}

static int write_beat(struct heartbeat *heartbeat, struct kube_status *st)
{
	const struct kube_ref ref = { .kind = api_kind_find("coordination.k8s.io", "Lease"),
				      .ns = heartbeat->ns,
				      .name = heartbeat->name };
	json_t *answer = NULL;
	if (heartbeat->lease == NULL) {
		int r = kube_get(heartbeat->conn, &ref, &answer, st);
		if (r < 0 && r != ERR_NOTFOUND)
			return r;
		kube_status_done(st);
		set_known(heartbeat, TAKE_PTR(answer));
	}
	json_t *body = make_beat(heartbeat, clock_wall_ns());
	int r = heartbeat->lease == NULL
			? kube_create(heartbeat->conn, &ref, body, &answer, st)
			: kube_update(heartbeat->conn, &ref, NULL, body, &answer, st);
	json_decref(body);
	set_known(heartbeat, r < 0 ? NULL : answer);
	return r;
}

static void beat(struct heartbeat *heartbeat)
{
	struct kube_status st = { 0 };
	int r = ERR_CONFLICT;
	for (int i = 0; i < TRIES && (r == ERR_CONFLICT || r == ERR_DUPLICATE || r == ERR_NOTFOUND);
	     i++) {
		kube_status_done(&st);
		r = write_beat(heartbeat, &st);
	}
	if (r < 0 && r != -ECANCELED) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		strbuf_addf(&text, "heartbeat lease '%s' in namespace '%s': %s", heartbeat->name,
			    heartbeat->ns, st.message[0] != '\0' ? st.message : err_str(r));
		heartbeat->conf.on_error(heartbeat->conf.ctx, text.s);
	}
	kube_status_done(&st);
}

/* Waits for the time of the next beat; false: the end. */
static bool wait_for_beat(struct heartbeat *heartbeat, uint64_t until_ns)
{
	struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S),
				  .tv_nsec = (long)(until_ns % NS_PER_S) };
	int r = 0;
	pthread_mutex_lock(&heartbeat->lock);
	while (!heartbeat->stop && r == 0)
		r = pthread_cond_timedwait(&heartbeat->cond, &heartbeat->lock, &until);
	bool stop = heartbeat->stop;
	pthread_mutex_unlock(&heartbeat->lock);
	return !stop;
}

static void *run_heartbeat(void *arg)
{
	struct heartbeat *heartbeat = arg;
	uint64_t next_ns;
	do {
		next_ns = clock_mono_ns() + heartbeat->conf.interval_ns;
		if (heartbeat->conf.is_working(heartbeat->conf.ctx))
			beat(heartbeat);
	} while (wait_for_beat(heartbeat, next_ns));
	return NULL;
}

/* ---- start and end ---- */

static void heartbeat_free(struct heartbeat *heartbeat)
{
	kube_conn_free(heartbeat->conn);
	json_decref(heartbeat->lease);
	pthread_cond_destroy(&heartbeat->cond);
	pthread_mutex_destroy(&heartbeat->lock);
	free(heartbeat->ns);
	free(heartbeat->name);
	free(heartbeat->holder);
	free(heartbeat);
}

static void init_lock(struct heartbeat *heartbeat)
{
	pthread_condattr_t attr;
	pthread_mutex_init(&heartbeat->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&heartbeat->cond, &attr);
	pthread_condattr_destroy(&attr);
}

int heartbeat_start(const struct heartbeat_conf *conf, struct heartbeat **ret, struct err_text err)
{
	struct heartbeat *heartbeat = xcalloc(1, sizeof(*heartbeat));
	heartbeat->conf = *conf;
	assert(conf->interval_ns != 0 && conf->interval_ns % NS_PER_S == 0);
	heartbeat->ns = xstrdup(conf->ns);
	heartbeat->name = xstrdup(conf->name);
	heartbeat->holder = xstrdup(conf->holder);
	init_lock(heartbeat);
	heartbeat->conn = kube_conn_new(conf->client, err);
	int r = heartbeat->conn == NULL
			? ERR_CONFIG
			: -pthread_create(&heartbeat->thread, NULL, run_heartbeat, heartbeat);
	if (r < 0) {
		if (heartbeat->conn != NULL)
			err_text_set(err, "cannot start a thread: %s", err_str(r));
		heartbeat_free(heartbeat);
		return r;
	}
	*ret = heartbeat;
	return 0;
}

void heartbeat_stop(struct heartbeat *heartbeat)
{
	if (heartbeat == NULL)
		return;
	pthread_mutex_lock(&heartbeat->lock);
	heartbeat->stop = true;
	pthread_cond_signal(&heartbeat->cond);
	pthread_mutex_unlock(&heartbeat->lock);
	kube_conn_cancel(heartbeat->conn);
	pthread_join(heartbeat->thread, NULL);
	heartbeat_free(heartbeat);
}
