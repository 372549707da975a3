/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state machine of leader election: decides by the Lease and the clock whether to read, create,
 * renew or take over the Lease. */
#include "kube/leader/elect.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "kube/leader/holder_process.h"

enum {
	RETRY_JITTER = 5, /* a follower waits up to a fifth longer, so that not all ask at once */
	DURATION_MAX_S = 3600 * 24, /* of a record: one with more is invalid */
	EXIT_MAX_MS = 1000, /* for the end of the process itself, of the time until the expiry */
};

int elect_times_check(struct elect_times *times, struct err_text err)
{
	if (times->duration_ns == 0)
		times->duration_ns = 15 * NS_PER_S;
	if (times->renew_ns == 0)
		times->renew_ns = 10 * NS_PER_S;
	if (times->retry_ns == 0)
		times->retry_ns = 2 * NS_PER_S;
	if (times->duration_ns % NS_PER_S != 0 || times->duration_ns > DURATION_MAX_S * NS_PER_S) {
		err_text_set(err, "a lease lasts whole seconds, at most a day");
		return ERR_CONFIG;
	}
	if (times->duration_ns < times->renew_ns + ELECT_GAP_MIN_MS * NS_PER_MS ||
	    times->renew_ns * 5 <= times->retry_ns * 6) {
		err_text_set(
			err,
			"a lease must last longer than its renew deadline, by %d ms at least, in "
			"which work under way is ended, and that longer than 1.2 times its retry "
			"period",
			ELECT_GAP_MIN_MS);
		return ERR_CONFIG;
	}
	return 0;
}

void elect_init(struct elect *elect, const struct elect_times *times, const char *ns,
		const char *name, const char *identity)
{
	*elect = (struct elect){ .times = *times, .ns = ns, .name = name, .identity = identity };
	rng_init(&elect->rng);
}

void elect_done(struct elect *elect)
{
	json_decref(elect->lease);
	elect->lease = NULL;
}

const char *elect_holder(const struct elect *elect)
{
	return api_get_string(elect->lease, "spec.holderIdentity");
}

uint64_t elect_deadline_ns(const struct elect *elect, uint64_t now_ns)
{
	uint64_t until = elect->renewed_ns + elect->times.renew_ns;
	return elect->leading && now_ns < until ? until : 0;
}

uint64_t elect_end_by_ns(const struct elect *elect)
{
	const struct elect_times *times = &elect->times;
	uint64_t reserve = (times->duration_ns - times->renew_ns) / 4;
	return elect->renewed_ns + times->duration_ns - MIN(reserve, EXIT_MAX_MS * NS_PER_MS);
}

/* The record's own duration counts: its holder may have been started with other times than we. */
static uint64_t expiry_ns(const struct elect *elect)
{
	json_int_t s = json_integer_value(api_get(elect->lease, "spec.leaseDurationSeconds"));
	uint64_t d =
		s > 0 && s <= DURATION_MAX_S ? (uint64_t)s * NS_PER_S : elect->times.duration_ns;
	return elect->changed_ns + d;
}

/* A holder on this machine that was killed. The annotation may be that of a holder before. */
static bool holder_has_ended(const struct elect *elect, const char *holder)
{
	if (elect->has_ended == NULL)
		return false;
	const char *text = api_annotation(elect->lease, LEASE_PROCESS_ANNOTATION);
	const size_t n = strlen(holder);
	return strncmp(text, holder, n) == 0 && text[n] == ' ' && elect->has_ended(text + n + 1);
}

static bool is_free(const struct elect *elect, uint64_t now_ns)
{
	const char *holder = elect_holder(elect);
	return holder[0] == '\0' || strcmp(holder, elect->identity) == 0 ||
	       now_ns >= expiry_ns(elect) || holder_has_ended(elect, holder);
}

static void note_lease(struct elect *elect, const json_t *lease, uint64_t now_ns)
{
	const json_t *was = json_object_get(elect->lease, "spec");
	const json_t *is = json_object_get(lease, "spec");
	if (was == NULL || is == NULL || !json_equal(was, is))
		elect->changed_ns = now_ns;
	json_decref(elect->lease);
	elect->lease = json_deep_copy(lease);
}

static uint64_t retry_delay_ns(struct elect *elect)
{
	uint32_t fifth_ms = (uint32_t)(elect->times.retry_ns / RETRY_JITTER / NS_PER_MS);
	return elect->times.retry_ns + rng_below(&elect->rng, fifth_ms + 1) * NS_PER_MS;
}

/* ---- what is written ---- */

static json_t *new_lease(const struct elect *elect)
{
	return json_pack("{s:s, s:s, s:{s:s, s:s}, s:{}}", "apiVersion", "coordination.k8s.io/v1",
			 "kind", "Lease", "metadata", "name", elect->name, "namespace", elect->ns,
			 "spec");
}

static void set_time(json_t *spec, const char *key, uint64_t wall_ns)
{
	char text[API_TIME_TEXT_MAX];
	json_object_set_new(spec, key, json_string(api_micro_time_format(wall_ns, text)));
}

static void set_process(const struct elect *elect, json_t *lease)
{
	CLEANUP(freep) char *text = xasprintf("%s %s", elect->identity, elect->process);
	json_t *meta = json_object_get(lease, "metadata");
	json_t *annotations = json_object_get(meta, "annotations");
	if (!json_is_object(annotations)) {
		annotations = json_object();
		json_object_set_new(meta, "annotations", annotations);
	}
	json_object_set_new(annotations, LEASE_PROCESS_ANNOTATION, json_string(text));
}

static json_t *make_claim(const struct elect *elect, uint64_t wall_ns)
{
	json_t *o = elect->missing || elect->lease == NULL ? new_lease(elect)
							   : json_deep_copy(elect->lease);
	json_t *spec = json_object_get(o, "spec");
	if (!json_is_object(spec)) {
		spec = json_object();
		json_object_set_new(o, "spec", spec);
	}
	bool same = !elect->missing && strcmp(elect_holder(elect), elect->identity) == 0;
	json_int_t n = json_integer_value(json_object_get(spec, "leaseTransitions"));
	json_object_set_new(spec, "holderIdentity", json_string(elect->identity));
	json_object_set_new(spec, "leaseDurationSeconds",
			    json_integer((json_int_t)(elect->times.duration_ns / NS_PER_S)));
	if (!same || json_object_get(spec, "acquireTime") == NULL)
		set_time(spec, "acquireTime", wall_ns);
	set_time(spec, "renewTime", wall_ns);
	json_object_set_new(spec, "leaseTransitions",
			    json_integer(same || elect->missing ? n : n + 1));
	if (elect->process != NULL)
		set_process(elect, o);
	return o;
}

json_t *elect_release(const struct elect *elect, uint64_t now_ns, uint64_t wall_ns)
{
	if (elect_deadline_ns(elect, now_ns) == 0 || elect->lease == NULL)
		return NULL;
	json_t *o = json_deep_copy(elect->lease);
	json_t *spec = json_object_get(o, "spec");
	json_object_set_new(spec, "holderIdentity", json_string(""));
	/* Nobody needs to wait for it. */
	json_object_set_new(spec, "leaseDurationSeconds", json_integer(1));
	set_time(spec, "acquireTime", wall_ns);
	set_time(spec, "renewTime", wall_ns);
	return o;
}

/* ---- the machine ---- */

static void lose_lease(struct elect *elect)
{
	assert(elect->leading);
	elect->leading = elect->stale = elect->take = false;
}

enum elect_act elect_next(struct elect *elect, uint64_t now_ns, uint64_t wall_ns, json_t **ret_body,
			  uint64_t *ret_until_ns)
{
	if (elect->leading && elect_deadline_ns(elect, now_ns) == 0)
		lose_lease(elect);
	if (now_ns < elect->due_ns) {
		uint64_t deadline = elect_deadline_ns(elect, now_ns);
		*ret_until_ns = deadline != 0 ? MIN(elect->due_ns, deadline) : elect->due_ns;
		return ELECT_WAIT;
	}
	if (elect->missing || elect->take || (elect->leading && !elect->stale)) {
		*ret_body = make_claim(elect, wall_ns);
		return elect->missing ? ELECT_CREATE : ELECT_UPDATE;
	}
	return ELECT_GET;
}

static void result_of_get(struct elect *elect, const json_t *answer, uint64_t now_ns)
{
	assert(!elect->missing);
	note_lease(elect, answer, now_ns);
	elect->stale = false;
	if (elect->leading && strcmp(elect_holder(elect), elect->identity) != 0)
		lose_lease(elect);
	if (elect->leading) {
		elect->due_ns = now_ns;
		return;
	}
	elect->take = is_free(elect, now_ns);
	/* A request just when it expires keeps a take-over short: the retry period alone could add
	 * itself to the lease's. */
	uint64_t later = now_ns + retry_delay_ns(elect);
	elect->due_ns = elect->take ? now_ns : MIN(later, expiry_ns(elect));
}

static void result_of_write(struct elect *elect, const json_t *answer, uint64_t sent_ns,
			    uint64_t now_ns)
{
	assert(sent_ns <= now_ns);
	note_lease(elect, answer, now_ns);
	elect->leading = true;
	elect->missing = elect->take = elect->stale = false;
	elect->conflicts = 0;
	/* Others saw this renewal after it was sent, so their wait began later than ours. */
	elect->renewed_ns = sent_ns;
	elect->due_ns = sent_ns + elect->times.retry_ns;
}

void elect_result(struct elect *elect, enum elect_act act, int ret, const json_t *answer,
		  uint64_t sent_ns, uint64_t now_ns)
{
	assert(act != ELECT_WAIT && (ret != 0 || answer != NULL));
	if (ret == 0 && act == ELECT_GET) {
		elect->missing = false;
		result_of_get(elect, answer, now_ns);
		return;
	}
	if (ret == 0) {
		result_of_write(elect, answer, sent_ns, now_ns);
		return;
	}
	elect->take = elect->missing = false;
	if (ret == ERR_NOTFOUND) {
		/* A leader whose lease was deleted makes it anew, and lets whoever is faster win.
		 */
		elect->missing = true;
		elect->due_ns = act == ELECT_CREATE ? now_ns + retry_delay_ns(elect) : now_ns;
		return;
	}
	elect->stale = elect->leading;
	bool other_was_first = ret == ERR_CONFLICT || ret == ERR_DUPLICATE;
	elect->due_ns = other_was_first && elect->conflicts++ == 0 ? now_ns
								   : now_ns + retry_delay_ns(elect);
}
