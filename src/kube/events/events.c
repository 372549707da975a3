/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds Event objects, and sends them on a thread. */
#include "kube/events/events.h"
#include "kube/events/events_test.h"

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/time.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "kube/client/client.h"

enum {
	STOP_S = 2,	      /* for the last ones */
	NAME_MAX_BYTES = 200, /* of the object's name inside an Event's */
};

struct events {
	struct kube_conn *conn;
	char *controller, *instance;
	pthread_t thread;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t cond;
	struct series *series;
	bool stop, ended;
	uint64_t stop_ns;
};

/* ---- the object ---- */

/* Cuts the text to the server's limit, at the end of a character. */
static json_t *cut_text(const char *text, size_t max)
{
	size_t n = strlen(text);
	if (n > max) {
		n = max;
		while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--;
	}
	json_t *v = json_stringn(text, n);
	return v != NULL ? v : json_string("(not UTF-8)");
}

static json_t *make_reference(const json_t *object)
{
	static const struct {
		const char *key;
		const char *(*get)(const json_t *object);
	} fields[] = {
		{ "apiVersion", api_version }, { "kind", api_kind }, { "namespace", api_namespace },
		{ "name", api_name },	       { "uid", api_uid },
	};
	json_t *r = json_object();
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const char *text = fields[i].get(object);
		if (text[0] != '\0')
			json_object_set_new(r, fields[i].key, json_string(text));
	}
	return r;
}

/* Names of some kinds (RBAC's) may have characters that an Event's may not. */
static void event_name(struct strbuf *out, const char *name, uint64_t wall_ns)
{
	for (size_t i = 0; name[i] != '\0' && i < NAME_MAX_BYTES; i++) {
		char c = ascii_lower(name[i]);
		bool ok = ascii_isalpha(c) || ascii_isdigit(c) || (c == '.' && i > 0) ||
			  (c == '-' && i > 0);
		strbuf_addc(out, ok ? c : 'x');
	}
	while (out->n > 0 && (out->s[out->n - 1] == '.' || out->s[out->n - 1] == '-'))
		out->s[--out->n] = '\0';
	strbuf_addf(out, "%s%llx", out->n > 0 ? "." : "", (unsigned long long)wall_ns);
}

json_t *events_body(const char *controller, const char *instance, const struct event *ev,
		    const char *note, uint64_t wall_ns)
{
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
	char now[API_TIME_TEXT_MAX];
	const char *ns = api_namespace(ev->regarding);
	event_name(&name, api_name(ev->regarding), wall_ns);
	json_t *o = json_pack(
		"{s:s, s:s, s:{s:s, s:s}, s:s, s:o, s:o, s:o, s:o, s:s, s:o, s:o}", "apiVersion",
		"events.k8s.io/v1", "kind", "Event", "metadata", "name", name.s, "namespace",
		ns[0] != '\0' ? ns : "default", "eventTime", api_micro_time_format(wall_ns, now),
		"reportingController", cut_text(controller, EVENTS_WORD_MAX), "reportingInstance",
		cut_text(instance, EVENTS_WORD_MAX), "action",
		cut_text(ev->action, EVENTS_WORD_MAX), "reason",
		cut_text(ev->reason, EVENTS_WORD_MAX), "type", ev->warning ? "Warning" : "Normal",
		"note", cut_text(note, EVENTS_NOTE_MAX), "regarding",
		make_reference(ev->regarding));
	if (ev->related != NULL)
		json_object_set_new(o, "related", make_reference(ev->related));
	return o;
}

/* ---- the thread ---- */

/* Without the lock while the request is under way. */
static void send_one(struct events *events, struct series_item *it, enum series_act act,
		     json_t *body)
{
	struct kube_ref ref = { .kind = api_kind_find("events.k8s.io", "Event"),
				.ns = series_item_namespace(it),
				.name = series_item_name(it) };
	struct kube_status st = { 0 };
	int r;
	pthread_mutex_unlock(&events->lock);
	if (act == SERIES_CREATE)
		r = kube_create(events->conn, &ref, body, NULL, &st);
	else
		r = kube_merge(events->conn, &ref, NULL, body, NULL, &st);
	if (r < 0)
		log_debug("kube", "event about '%s': %s", ref.name,
			  st.message[0] != '\0' ? st.message : err_str(r));
	kube_status_done(&st);
	json_decref(body);
	pthread_mutex_lock(&events->lock);
	assert(!events->ended);
	series_result(events->series, it, act, r, clock_mono_ns());
}

static void wait_until(struct events *events, uint64_t until_ns)
{
	struct timespec ts = { .tv_sec = (time_t)(until_ns / NS_PER_S),
			       .tv_nsec = (long)(until_ns % NS_PER_S) };
	if (until_ns == 0)
		pthread_cond_wait(&events->cond, &events->lock);
	else
		pthread_cond_timedwait(&events->cond, &events->lock, &ts);
}

static void *run_thread(void *arg)
{
	struct events *e = arg;
	pthread_mutex_lock(&e->lock);
	while (!e->stop || clock_mono_ns() < e->stop_ns) {
		struct series_item *it = NULL;
		json_t *body = NULL;
		uint64_t until = 0;
		enum series_act act = series_next(e->series, clock_mono_ns(), &it, &body, &until);
		if (act != SERIES_WAIT)
			send_one(e, it, act, body);
		else if (e->stop)
			break;
		else
			wait_until(e, until);
	}
	e->ended = true;
	pthread_cond_broadcast(&e->cond);
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

static void events_free(struct events *events)
{
	kube_conn_free(events->conn);
	series_free(events->series);
	pthread_cond_destroy(&events->cond);
	pthread_mutex_destroy(&events->lock);
	free(events->controller);
	free(events->instance);
	free(events);
}

int events_start(const struct events_conf *conf, struct events **ret, struct err_text err)
{
	struct events *e = xcalloc(1, sizeof(*e));
	pthread_condattr_t ca;
	e->controller = xstrdup(conf->controller);
	e->instance = xstrdup(conf->instance);
	e->series = series_new();
	pthread_mutex_init(&e->lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&e->cond, &ca);
	pthread_condattr_destroy(&ca);
	e->conn = kube_conn_new(conf->client, err);
	if (e->conn == NULL) {
		events_free(e);
		return ERR_CONFIG;
	}
	kube_conn_set_write_limit(e->conn, conf->writes);
	kube_conn_set_patient(e->conn, true);
	int r = pthread_create(&e->thread, NULL, run_thread, e);
	if (r != 0) {
		err_text_set(err, "cannot start a thread: %s", err_str(-r));
		events_free(e);
		return -r;
	}
	*ret = e;
	return 0;
}

/* The thread has ended before its time, or is cut off in its request. */
static void wait_for_end(struct events *events)
{
	pthread_mutex_lock(&events->lock);
	while (!events->ended && clock_mono_ns() < events->stop_ns)
		wait_until(events, events->stop_ns);
	bool ended = events->ended;
	pthread_mutex_unlock(&events->lock);
	if (!ended)
		kube_conn_cancel(events->conn);
	pthread_join(events->thread, NULL);
}

void events_stop(struct events *events)
{
	if (events == NULL)
		return;
	pthread_mutex_lock(&events->lock);
	events->stop = true;
	events->stop_ns = clock_mono_ns() + STOP_S * NS_PER_S;
	pthread_cond_broadcast(&events->cond);
	pthread_mutex_unlock(&events->lock);
	wait_for_end(events);
	events_free(events);
}

/* Under lock. 0: counted with earlier ones. */
static int count_event(struct events *events, const struct event *ev, uint64_t wall_ns)
{
	const struct series_like like = { .controller = events->controller,
					  .instance = events->instance,
					  .regarding = ev->regarding,
					  .related = ev->related,
					  .warning = ev->warning,
					  .action = ev->action,
					  .reason = ev->reason };
	return events->stop ? ERR_LIMIT
			    : series_repeat(events->series, &like, clock_mono_ns(), wall_ns);
}

/* Under lock: what was counted is sent; what is dropped is counted, too, and wakes nobody. */
static void wake_if_added(struct events *events, int ret)
{
	if (ret == 0)
		pthread_cond_signal(&events->cond);
}

void events_emit(struct events *events, const struct event *ev, const char *fmt, ...)
{
	CLEANUP(strbuf_done) struct strbuf note = STRBUF_INIT;
	uint64_t wall = clock_wall_ns();
	pthread_mutex_lock(&events->lock);
	int r = count_event(events, ev, wall);
	wake_if_added(events, r);
	pthread_mutex_unlock(&events->lock);
	if (r != ERR_NOTFOUND)
		return;
	va_list ap;
	va_start(ap, fmt);
	strbuf_vaddf(&note, fmt, ap);
	va_end(ap);
	json_t *body = events_body(events->controller, events->instance, ev, note.s, wall);
	pthread_mutex_lock(&events->lock);
	if (events->stop)
		json_decref(body);
	else
		wake_if_added(events, series_add(events->series, body, clock_mono_ns(), wall));
	pthread_mutex_unlock(&events->lock);
}

void events_stats(struct events *events, struct series_stats *ret)
{
	pthread_mutex_lock(&events->lock);
	series_stats(events->series, ret);
	pthread_mutex_unlock(&events->lock);
}
