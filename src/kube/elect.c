/* The election: look, wait for the expiry, take, renew. */
#include "kube/elect.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "base/clock.h"
#include "base/err.h"

enum {
	RETRY_JITTER = 5, /* a follower waits up to a fifth longer, so that not all ask at once */
	DURATION_MAX_S = 3600 * 24, /* of a record: one that says more is broken */
};

int elect_times_check(struct elect_times *t, char *err, size_t err_n)
{
	if (t->duration_ns == 0)
		t->duration_ns = 15 * NS_PER_S;
	if (t->renew_ns == 0)
		t->renew_ns = 10 * NS_PER_S;
	if (t->retry_ns == 0)
		t->retry_ns = 2 * NS_PER_S;
	if (t->duration_ns % NS_PER_S != 0 || t->duration_ns > DURATION_MAX_S * NS_PER_S) {
		snprintf(err, err_n, "a lease lasts whole seconds, at most a day");
		return ERR_CONFIG;
	}
	if (t->duration_ns <= t->renew_ns || t->renew_ns * 5 <= t->retry_ns * 6) {
		snprintf(err, err_n,
			 "a lease must last longer than its renew deadline, and that longer than "
			 "1.2 times its retry period");
		return ERR_CONFIG;
	}
	return 0;
}

void elect_init(struct elect *e, const struct elect_times *t, const char *ns, const char *name,
		const char *identity)
{
	*e = (struct elect){ .times = *t, .ns = ns, .name = name, .identity = identity };
	rng_init(&e->rng);
}

void elect_done(struct elect *e)
{
	json_decref(e->lease);
	e->lease = NULL;
}

const char *elect_holder(const struct elect *e)
{
	return api_get_string(e->lease, "spec.holderIdentity");
}

uint64_t elect_deadline_ns(const struct elect *e, uint64_t now_ns)
{
	uint64_t until = e->renewed_ns + e->times.renew_ns;
	return e->leading && now_ns < until ? until : 0;
}

/* The record's own duration counts: its holder may have been started with other times than we. */
static uint64_t expiry_ns(const struct elect *e)
{
	json_int_t s = json_integer_value(api_get(e->lease, "spec.leaseDurationSeconds"));
	uint64_t d = s > 0 && s <= DURATION_MAX_S ? (uint64_t)s * NS_PER_S : e->times.duration_ns;
	return e->changed_ns + d;
}

static bool is_free(const struct elect *e, uint64_t now_ns)
{
	const char *holder = elect_holder(e);
	return holder[0] == '\0' || strcmp(holder, e->identity) == 0 || now_ns >= expiry_ns(e);
}

static void observe(struct elect *e, const json_t *lease, uint64_t now_ns)
{
	const json_t *was = json_object_get(e->lease, "spec");
	const json_t *is = json_object_get(lease, "spec");
	if (was == NULL || is == NULL || !json_equal(was, is))
		e->changed_ns = now_ns;
	json_decref(e->lease);
	e->lease = json_deep_copy(lease);
}

static uint64_t jittered(struct elect *e)
{
	uint32_t fifth_ms = (uint32_t)(e->times.retry_ns / RETRY_JITTER / NS_PER_MS);
	return e->times.retry_ns + rng_below(&e->rng, fifth_ms + 1) * NS_PER_MS;
}

/* ---- what is written ---- */

static json_t *new_lease(const struct elect *e)
{
	return json_pack("{s:s, s:s, s:{s:s, s:s}, s:{}}", "apiVersion", "coordination.k8s.io/v1",
			 "kind", "Lease", "metadata", "name", e->name, "namespace", e->ns, "spec");
}

static void set_time(json_t *spec, const char *key, uint64_t wall_ns)
{
	char text[API_TIME_TEXT_MAX];
	json_object_set_new(spec, key, json_string(api_micro_time(wall_ns, text)));
}

static json_t *claim(const struct elect *e, uint64_t wall_ns)
{
	json_t *o = e->missing || e->lease == NULL ? new_lease(e) : json_deep_copy(e->lease);
	json_t *spec = json_object_get(o, "spec");
	if (!json_is_object(spec)) {
		spec = json_object();
		json_object_set_new(o, "spec", spec);
	}
	bool same = !e->missing && strcmp(elect_holder(e), e->identity) == 0;
	json_int_t n = json_integer_value(json_object_get(spec, "leaseTransitions"));
	json_object_set_new(spec, "holderIdentity", json_string(e->identity));
	json_object_set_new(spec, "leaseDurationSeconds",
			    json_integer((json_int_t)(e->times.duration_ns / NS_PER_S)));
	if (!same || json_object_get(spec, "acquireTime") == NULL)
		set_time(spec, "acquireTime", wall_ns);
	set_time(spec, "renewTime", wall_ns);
	json_object_set_new(spec, "leaseTransitions", json_integer(same || e->missing ? n : n + 1));
	return o;
}

json_t *elect_release(const struct elect *e, uint64_t now_ns, uint64_t wall_ns)
{
	if (elect_deadline_ns(e, now_ns) == 0 || e->lease == NULL)
		return NULL;
	json_t *o = json_deep_copy(e->lease);
	json_t *spec = json_object_get(o, "spec");
	json_object_set_new(spec, "holderIdentity", json_string(""));
	/* Nobody needs to wait for it. */
	json_object_set_new(spec, "leaseDurationSeconds", json_integer(1));
	set_time(spec, "acquireTime", wall_ns);
	set_time(spec, "renewTime", wall_ns);
	return o;
}

/* ---- the machine ---- */

static void lose(struct elect *e)
{
	e->leading = e->stale = e->take = false;
}

enum elect_act elect_next(struct elect *e, uint64_t now_ns, uint64_t wall_ns, json_t **ret_body,
			  uint64_t *ret_until_ns)
{
	if (e->leading && elect_deadline_ns(e, now_ns) == 0)
		lose(e);
	if (now_ns < e->due_ns) {
		uint64_t deadline = elect_deadline_ns(e, now_ns);
		*ret_until_ns = deadline != 0 ? MIN(e->due_ns, deadline) : e->due_ns;
		return ELECT_WAIT;
	}
	if (e->missing || e->take || (e->leading && !e->stale)) {
		*ret_body = claim(e, wall_ns);
		return e->missing ? ELECT_CREATE : ELECT_UPDATE;
	}
	return ELECT_GET;
}

static void result_of_get(struct elect *e, const json_t *answer, uint64_t now_ns)
{
	observe(e, answer, now_ns);
	e->stale = false;
	if (e->leading && strcmp(elect_holder(e), e->identity) != 0)
		lose(e);
	if (e->leading) {
		e->due_ns = now_ns;
		return;
	}
	e->take = is_free(e, now_ns);
	/* To look just when it expires keeps a take-over short: the retry period alone could add
	 * itself to the lease's. */
	uint64_t later = now_ns + jittered(e);
	e->due_ns = e->take ? now_ns : MIN(later, expiry_ns(e));
}

static void result_of_write(struct elect *e, const json_t *answer, uint64_t sent_ns,
			    uint64_t now_ns)
{
	observe(e, answer, now_ns);
	e->leading = true;
	e->missing = e->take = e->stale = false;
	e->conflicts = 0;
	/* Others saw this renewal after it was sent, so their wait began later than ours. */
	e->renewed_ns = sent_ns;
	e->due_ns = sent_ns + e->times.retry_ns;
}

void elect_result(struct elect *e, enum elect_act act, int r, const json_t *answer,
		  uint64_t sent_ns, uint64_t now_ns)
{
	if (r == 0 && act == ELECT_GET) {
		e->missing = false;
		result_of_get(e, answer, now_ns);
		return;
	}
	if (r == 0) {
		result_of_write(e, answer, sent_ns, now_ns);
		return;
	}
	e->take = e->missing = false;
	if (r == ERR_NOTFOUND) {
		/* A leader whose lease was deleted makes it anew, and lets whoever is faster win.
		 */
		e->missing = true;
		e->due_ns = act == ELECT_CREATE ? now_ns + jittered(e) : now_ns;
		return;
	}
	e->stale = e->leading;
	bool other_was_first = r == ERR_CONFLICT || r == ERR_DUPLICATE;
	e->due_ns = other_was_first && e->conflicts++ == 0 ? now_ns : now_ns + jittered(e);
}
