/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The DNS servers: what each answered, and when to poll it again. */
#include "controller/dnsoperator/rollout/instances.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/condition.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/mem.h"

#define FIRST_NS (100 * NS_PER_MS)
#define YOUNG_NS (400 * NS_PER_MS)
/* A round with a silent server takes 1.5 s; pauses count from its begin, so that a server that came
 * back is noticed within 1.6 s. A query through the API server costs more than a datagram. */
#define MOST_NS	      (500 * NS_PER_MS)
#define MOST_APART_NS (15 * NS_PER_S)
#define ALL_NS	      (60 * NS_PER_S)
#define SOON_NS	      NS_PER_MS

enum { SILENT = 3 }; /* rounds without an answer that count as none */

static bool is_settled(const struct dnsoperator_instances *instances,
		       const struct dnsoperator_instance *entry)
{
	return entry->known && entry->reached && entry->fresh && entry->silent == 0 &&
	       strcmp(entry->hash, instances->wanted) == 0;
}

static size_t count_unsettled(const struct dnsoperator_instances *instances)
{
	size_t n = 0;
	for (size_t i = 0; i < instances->servers.n; i++)
		n += !is_settled(instances, &instances->servers.v[i]);
	return n;
}

static bool is_late(const struct dnsoperator_instances *instances, uint64_t now)
{
	return instances->wants && now >= instances->since_ns + instances->late_ns;
}

void dnsoperator_instances_done(struct dnsoperator_instances *instances)
{
	for (size_t i = 0; i < instances->servers.n; i++)
		free(instances->servers.v[i].name);
	vec_done(&instances->servers);
}

bool dnsoperator_instances_want(struct dnsoperator_instances *instances, const char *hash,
				uint64_t late_ns, uint64_t age, uint64_t now)
{
	instances->late_ns = late_ns;
	if (instances->wants == (hash != NULL) &&
	    (hash == NULL || strcmp(instances->wanted, hash) == 0))
		return false;
	instances->wants = hash != NULL;
	snprintf(instances->wanted, sizeof(instances->wanted), "%s", hash != NULL ? hash : "");
	instances->since_ns = now - MIN(age, now);
	instances->late_reported = instances->new_reported = false;
	instances->rounds = 0;
	instances->next_all_ns = now + ALL_NS;
	for (size_t i = 0; i < instances->servers.n; i++) {
		instances->servers.v[i].due = true;
		instances->servers.v[i].fresh = false;
	}
	return true;
}

bool dnsoperator_instances_recheck(struct dnsoperator_instances *instances, uint64_t now)
{
	instances->recheck_until_ns = now + instances->late_ns;
	instances->rounds = 0;
	for (size_t i = 0; i < instances->servers.n; i++)
		instances->servers.v[i].due = true;
	return instances->wants;
}

/* ---- the list ---- */

static int compare_names(const void *left, const void *right)
{
	const struct dnsoperator_instance *x = left, *y = right;
	return strcmp(x->name, y->name);
}

static struct dnsoperator_instance *find_instance(const struct dnsoperator_instances *instances,
						  const struct dnsoperator_server_at *at)
{
	struct dnsoperator_instance key = { .name = (char *)(uintptr_t)at->name };
	struct dnsoperator_instance *e =
		instances->servers.n == 0
			? NULL
			: bsearch(&key, instances->servers.v, instances->servers.n, sizeof(key),
				  compare_names);
	bool same = e != NULL && net_addr_same_ip(&e->addr, &at->addr) &&
		    net_addr_port(&e->addr) == net_addr_port(&at->addr);
	return same ? e : NULL;
}

bool dnsoperator_instances_set_list(struct dnsoperator_instances *instances,
				    const struct dnsoperator_server_at *at, size_t count)
{
	struct dnsoperator_instances now = *instances;
	size_t kept = 0;
	now.servers.v = NULL;
	now.servers.n = now.servers.cap = 0;
	for (size_t i = 0; i < count; i++) {
		const struct dnsoperator_instance *old = find_instance(instances, &at[i]);
		struct dnsoperator_instance *e = vec_add(&now.servers);
		kept += old != NULL;
		if (old != NULL)
			*e = *old;
		else
			*e = (struct dnsoperator_instance){ .addr = at[i].addr, .due = true };
		e->name = xstrdup(at[i].name);
	}
	if (count != 0)
		qsort(now.servers.v, count, sizeof(*now.servers.v), compare_names);
	if (kept < count)
		now.rounds = 0;
	/* a new server has not answered yet */
	bool changed = kept < instances->servers.n || (!instances->list_known && count == 0);
	now.list_known = true;
	dnsoperator_instances_done(instances);
	*instances = now;
	return changed;
}

void dnsoperator_ready_pods(const json_t *pods, uint16_t port, dnsoperator_servers_at *ret)
{
	const json_t *o;
	size_t i;
	json_array_foreach (pods, i, o) {
		struct dnsoperator_server_at at = { .name = api_name(o) };
		if (api_is_deleting(o) ||
		    api_condition_status(api_get(o, "status.conditions"), "Ready") != API_TRUE ||
		    net_addr_parse_ip(slice_of(api_get_string(o, "status.podIP")), &at.addr) < 0)
			continue;
		net_addr_set_port(&at.addr, port);
		vec_push(ret, at);
	}
}

/* ---- polling ---- */

static bool any_due(const struct dnsoperator_instances *instances)
{
	for (size_t i = 0; i < instances->servers.n; i++) {
		if (instances->servers.v[i].due)
			return true;
	}
	return false;
}

static void begin_round(struct dnsoperator_instances *instances, uint64_t now)
{
	bool some = now >= instances->next_ns,
	     all = now >= instances->next_all_ns || (some && now < instances->recheck_until_ns);
	if (now >= instances->next_all_ns)
		instances->next_all_ns = now + ALL_NS;
	for (size_t i = 0; i < instances->servers.n; i++) {
		struct dnsoperator_instance *e = &instances->servers.v[i];
		e->due = all || (some && !is_settled(instances, e));
	}
}

size_t dnsoperator_instances_due(struct dnsoperator_instances *instances, uint64_t now, size_t *ret,
				 size_t max)
{
	size_t n = 0;
	if (!instances->wants)
		return 0;
	if (!any_due(instances))
		begin_round(instances, now);
	for (size_t i = 0; i < instances->servers.n && n < max; i++) {
		if (!instances->servers.v[i].due)
			continue;
		instances->servers.v[i].due = false;
		ret[n++] = i;
	}
	if (n != 0)
		instances->round_ns = now;
	assert(n <= max);
	return n;
}

/* A server that answers with an error does not run the wanted marker; whether it dropped the last one
 * is not known. */
static bool is_answer(const struct dnsoperator_instances *instances,
		      const struct dnsoperator_marker_answer *said)
{
	return said->kind == DNSOPERATOR_MARKER_FOUND || said->kind == DNSOPERATOR_MARKER_MISSING ||
	       (said->kind == DNSOPERATOR_MARKER_FAILED && instances->wanted[0] != '\0');
}

static bool note_answer(const struct dnsoperator_instances *instances,
			struct dnsoperator_instance *entry,
			const struct dnsoperator_marker_answer *said)
{
	bool reached = is_answer(instances, said);
	/* differs from the hash of every Corefile, even of one without a marker */
	const char *hash = said->kind == DNSOPERATOR_MARKER_FAILED ? "failed" : said->hash;
	bool first = reached && !entry->fresh;
	entry->fresh = entry->fresh || reached;
	entry->silent = reached ? 0 : MIN(entry->silent + 1, (unsigned)SILENT);
	if (!reached && entry->silent < SILENT)
		return false;
	bool changed = first || !entry->known || entry->reached != reached ||
		       entry->why != said->why || strcmp(entry->hash, hash) != 0;
	entry->known = true;
	entry->reached = reached;
	entry->why = said->why;
	snprintf(entry->hash, sizeof(entry->hash), "%s", hash);
	return changed;
}

/* Twice as long each time, but short beside the age of the Corefile, so that the status is never much
 * behind. */
static uint64_t pause_ns(const struct dnsoperator_instances *instances, uint64_t now)
{
	uint64_t cap = instances->by_proxy ? MOST_APART_NS : MOST_NS;
	uint64_t most = MIN(MAX((now - instances->since_ns) / 4, YOUNG_NS), cap);
	return MIN(FIRST_NS << MIN(instances->rounds, 10u), most);
}

bool dnsoperator_instances_note_early(struct dnsoperator_instances *instances, const size_t *which,
				      const struct dnsoperator_marker_answer *said, size_t count)
{
	bool changed = false;
	for (size_t i = 0; i < count; i++) {
		if (is_answer(instances, &said[i]))
			changed =
				note_answer(instances, &instances->servers.v[which[i]], &said[i]) ||
				changed;
	}
	return changed;
}

bool dnsoperator_instances_note_answers(struct dnsoperator_instances *instances,
					const size_t *which,
					const struct dnsoperator_marker_answer *said, size_t count,
					uint64_t now)
{
	bool changed = !instances->new_reported;
	instances->new_reported = true;
	for (size_t i = 0; i < count; i++)
		changed = note_answer(instances, &instances->servers.v[which[i]], &said[i]) ||
			  changed;
	bool open = count_unsettled(instances) != 0;
	if (!open && now >= instances->recheck_until_ns) {
		instances->rounds = 0;
		instances->next_ns = now;
		return changed;
	}
	if (count != 0 && !any_due(instances)) {
		instances->next_ns =
			MAX(instances->round_ns + pause_ns(instances, now), now + FIRST_NS);
		instances->rounds++;
	}
	if (open && is_late(instances, now) && !instances->late_reported)
		changed = instances->late_reported = true;
	return changed;
}

uint64_t dnsoperator_instances_next_ns(const struct dnsoperator_instances *instances, uint64_t now)
{
	uint64_t at = instances->next_all_ns;
	bool open = count_unsettled(instances) != 0;
	if (!instances->wants || instances->servers.n == 0)
		return 0;
	if (any_due(instances))
		return SOON_NS;
	if (open || now < instances->recheck_until_ns)
		at = MIN(at, instances->next_ns);
	if (open && !instances->late_reported)
		at = MIN(at, instances->since_ns + instances->late_ns);
	return at > now + SOON_NS ? at - now : SOON_NS;
}

/* An answer from before the Corefile was wanted does not prove that the server runs it now. */
static const char *shown_hash(const struct dnsoperator_instances *instances,
			      const struct dnsoperator_instance *entry, struct arena *arena)
{
	return !entry->fresh && strcmp(entry->hash, instances->wanted) == 0
		       ? "of before"
		       : arena_strdup(arena, entry->hash);
}

bool dnsoperator_instances_view(const struct dnsoperator_instances *instances, uint64_t now,
				struct arena *arena, struct dnsoperator_answers *ret)
{
	struct dnsoperator_answer *v = arena_calloc(arena, (instances->servers.n + 1) * sizeof(*v));
	*ret = (struct dnsoperator_answers){ .v = v,
					     .late = is_late(instances, now),
					     .asked_for = arena_strdup(arena, instances->wanted) };
	for (size_t i = 0; i < instances->servers.n; i++) {
		const struct dnsoperator_instance *e = &instances->servers.v[i];
		if (!e->known)
			return false;
		v[ret->n++] = (struct dnsoperator_answer){
			.name = arena_strdup(arena, e->name),
			.reached = e->reached,
			.hash = e->reached ? shown_hash(instances, e, arena) : "",
			.why = e->reached ? NULL : e->why,
		};
	}
	return instances->list_known;
}
