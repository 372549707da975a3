/* The roll: who is there, what they said, when to ask again. */
#include "controller/dnsoperator/rollout/instances.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/condition.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/mem.h"

#define FIRST_NS (100 * NS_PER_MS)
#define YOUNG_NS (400 * NS_PER_MS)
/* With the time that a question takes when it is not answered, a server that came back is noticed
 * within 2 s. A question through the API server costs more than a datagram. */
#define MOST_NS	      (500 * NS_PER_MS)
#define MOST_APART_NS (15 * NS_PER_S)
#define ALL_NS	      (60 * NS_PER_S)
#define SOON_NS	      NS_PER_MS

enum { SILENT = 3 }; /* rounds without an answer that count as none */

static bool is_settled(const struct dnsoperator_instances *roll,
		       const struct dnsoperator_instance *entry)
{
	return entry->told && entry->reached && entry->fresh && entry->silent == 0 &&
	       strcmp(entry->hash, roll->wanted) == 0;
}

static size_t count_unsettled(const struct dnsoperator_instances *roll)
{
	size_t n = 0;
	for (size_t i = 0; i < roll->servers.n; i++)
		n += !is_settled(roll, &roll->servers.v[i]);
	return n;
}

static bool is_late(const struct dnsoperator_instances *roll, uint64_t now)
{
	return roll->wants && now >= roll->since_ns + roll->late_ns;
}

void dnsoperator_instances_done(struct dnsoperator_instances *roll)
{
	for (size_t i = 0; i < roll->servers.n; i++)
		free(roll->servers.v[i].name);
	vec_done(&roll->servers);
}

bool dnsoperator_instances_want(struct dnsoperator_instances *roll, const char *hash,
				uint64_t late_ns, uint64_t age, uint64_t now)
{
	roll->late_ns = late_ns;
	if (roll->wants == (hash != NULL) && (hash == NULL || strcmp(roll->wanted, hash) == 0))
		return false;
	roll->wants = hash != NULL;
	snprintf(roll->wanted, sizeof(roll->wanted), "%s", hash != NULL ? hash : "");
	roll->since_ns = now - MIN(age, now);
	roll->told_late = roll->told_new = false;
	roll->rounds = 0;
	roll->all_ns = now + ALL_NS;
	for (size_t i = 0; i < roll->servers.n; i++) {
		roll->servers.v[i].due = true;
		roll->servers.v[i].fresh = false;
	}
	return true;
}

bool dnsoperator_instances_recheck(struct dnsoperator_instances *roll, uint64_t now)
{
	roll->doubt_ns = now + roll->late_ns;
	roll->rounds = 0;
	for (size_t i = 0; i < roll->servers.n; i++)
		roll->servers.v[i].due = true;
	return roll->wants;
}

/* ---- who is there ---- */

static int compare_names(const void *left, const void *right)
{
	const struct dnsoperator_instance *x = left, *y = right;
	return strcmp(x->name, y->name);
}

static struct dnsoperator_instance *find_instance(const struct dnsoperator_instances *roll,
						  const struct dnsoperator_server_at *at)
{
	struct dnsoperator_instance key = { .name = (char *)(uintptr_t)at->name };
	struct dnsoperator_instance *e = roll->servers.n == 0
						 ? NULL
						 : bsearch(&key, roll->servers.v, roll->servers.n,
							   sizeof(key), compare_names);
	bool same = e != NULL && net_addr_same_ip(&e->addr, &at->addr) &&
		    net_addr_port(&e->addr) == net_addr_port(&at->addr);
	return same ? e : NULL;
}

bool dnsoperator_instances_set_list(struct dnsoperator_instances *roll,
				    const struct dnsoperator_server_at *at, size_t count)
{
	struct dnsoperator_instances now = *roll;
	size_t kept = 0;
	now.servers.v = NULL;
	now.servers.n = now.servers.cap = 0;
	for (size_t i = 0; i < count; i++) {
		const struct dnsoperator_instance *old = find_instance(roll, &at[i]);
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
	/* somebody new has said nothing yet */
	bool changed = kept < roll->servers.n || (!roll->taken && count == 0);
	now.taken = true;
	dnsoperator_instances_done(roll);
	*roll = now;
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

/* ---- questions and answers ---- */

static bool any_due(const struct dnsoperator_instances *roll)
{
	for (size_t i = 0; i < roll->servers.n; i++) {
		if (roll->servers.v[i].due)
			return true;
	}
	return false;
}

static void begin_round(struct dnsoperator_instances *roll, uint64_t now)
{
	bool some = now >= roll->next_ns,
	     all = now >= roll->all_ns || (some && now < roll->doubt_ns);
	if (now >= roll->all_ns)
		roll->all_ns = now + ALL_NS;
	for (size_t i = 0; i < roll->servers.n; i++) {
		struct dnsoperator_instance *e = &roll->servers.v[i];
		e->due = all || (some && !is_settled(roll, e));
	}
}

size_t dnsoperator_instances_due(struct dnsoperator_instances *roll, uint64_t now, size_t *ret,
				 size_t max)
{
	size_t n = 0;
	if (!roll->wants)
		return 0;
	if (!any_due(roll))
		begin_round(roll, now);
	for (size_t i = 0; i < roll->servers.n && n < max; i++) {
		if (!roll->servers.v[i].due)
			continue;
		roll->servers.v[i].due = false;
		ret[n++] = i;
	}
	return n;
}

/* A server that fails does not run the marker that is wanted; whether it dropped the one of before
 * it does not show. */
static bool is_answer(const struct dnsoperator_instances *roll, const struct dnsoperator_ack *said)
{
	return said->kind == DNSOPERATOR_ACK_TOLD || said->kind == DNSOPERATOR_ACK_OTHER ||
	       (said->kind == DNSOPERATOR_ACK_FAILED && roll->wanted[0] != '\0');
}

static bool note_answer(const struct dnsoperator_instances *roll,
			struct dnsoperator_instance *entry, const struct dnsoperator_ack *said)
{
	bool reached = is_answer(roll, said);
	/* like no text, not even one without a marker */
	const char *hash = said->kind == DNSOPERATOR_ACK_FAILED ? "failed" : said->hash;
	bool first = reached && !entry->fresh;
	entry->fresh = entry->fresh || reached;
	entry->silent = reached ? 0 : MIN(entry->silent + 1, (unsigned)SILENT);
	if (!reached && entry->silent < SILENT)
		return false;
	bool changed = first || !entry->told || entry->reached != reached ||
		       entry->why != said->why || strcmp(entry->hash, hash) != 0;
	entry->told = true;
	entry->reached = reached;
	entry->why = said->why;
	snprintf(entry->hash, sizeof(entry->hash), "%s", hash);
	return changed;
}

/* Twice as long each time, but not long beside the time that the text has been there: so that what
 * is told is never much older than what is. */
static uint64_t pause_ns(const struct dnsoperator_instances *roll, uint64_t now)
{
	uint64_t cap = roll->apart ? MOST_APART_NS : MOST_NS;
	uint64_t most = MIN(MAX((now - roll->since_ns) / 4, YOUNG_NS), cap);
	return MIN(FIRST_NS << MIN(roll->rounds, 10u), most);
}

bool dnsoperator_instances_note_early(struct dnsoperator_instances *roll, const size_t *which,
				      const struct dnsoperator_ack *said, size_t count)
{
	bool changed = false;
	for (size_t i = 0; i < count; i++) {
		if (is_answer(roll, &said[i]))
			changed =
				note_answer(roll, &roll->servers.v[which[i]], &said[i]) || changed;
	}
	return changed;
}

bool dnsoperator_instances_note_answers(struct dnsoperator_instances *roll, const size_t *which,
					const struct dnsoperator_ack *said, size_t count,
					uint64_t now)
{
	bool changed = !roll->told_new;
	roll->told_new = true;
	for (size_t i = 0; i < count; i++)
		changed = note_answer(roll, &roll->servers.v[which[i]], &said[i]) || changed;
	bool open = count_unsettled(roll) != 0;
	if (!open && now >= roll->doubt_ns) {
		roll->rounds = 0;
		roll->next_ns = now;
		return changed;
	}
	if (count != 0 && !any_due(roll)) {
		roll->next_ns = now + pause_ns(roll, now);
		roll->rounds++;
	}
	if (open && is_late(roll, now) && !roll->told_late)
		changed = roll->told_late = true;
	return changed;
}

uint64_t dnsoperator_instances_next_ns(const struct dnsoperator_instances *roll, uint64_t now)
{
	uint64_t at = roll->all_ns;
	bool open = count_unsettled(roll) != 0;
	if (!roll->wants || roll->servers.n == 0)
		return 0;
	if (any_due(roll))
		return SOON_NS;
	if (open || now < roll->doubt_ns)
		at = MIN(at, roll->next_ns);
	if (open && !roll->told_late)
		at = MIN(at, roll->since_ns + roll->late_ns);
	return at > now + SOON_NS ? at - now : SOON_NS;
}

/* That a server ran the wanted text at another time is no proof that it does now. */
static const char *shown_hash(const struct dnsoperator_instances *roll,
			      const struct dnsoperator_instance *entry, struct arena *arena)
{
	return !entry->fresh && strcmp(entry->hash, roll->wanted) == 0
		       ? "of before"
		       : arena_strdup(arena, entry->hash);
}

bool dnsoperator_instances_view(const struct dnsoperator_instances *roll, uint64_t now,
				struct arena *arena, struct dnsoperator_answers *ret)
{
	struct dnsoperator_answer *v = arena_calloc(arena, (roll->servers.n + 1) * sizeof(*v));
	*ret = (struct dnsoperator_answers){ .v = v,
					     .late = is_late(roll, now),
					     .asked_for = arena_strdup(arena, roll->wanted) };
	for (size_t i = 0; i < roll->servers.n; i++) {
		const struct dnsoperator_instance *e = &roll->servers.v[i];
		if (!e->told)
			return false;
		v[ret->n++] = (struct dnsoperator_answer){
			.name = arena_strdup(arena, e->name),
			.reached = e->reached,
			.hash = e->reached ? shown_hash(roll, e, arena) : "",
			.why = e->reached ? NULL : e->why,
		};
	}
	return roll->taken;
}
