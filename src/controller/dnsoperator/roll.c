/* The roll: who is there, what they said, when to ask again. */
#include "controller/dnsoperator/roll.h"

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

static bool is_settled(const struct dnsoperator_roll *r, const struct dnsoperator_roll_entry *e)
{
	return e->told && e->reached && e->fresh && e->silent == 0 &&
	       strcmp(e->hash, r->wanted) == 0;
}

static size_t unsettled(const struct dnsoperator_roll *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->servers.n; i++)
		n += !is_settled(r, &r->servers.v[i]);
	return n;
}

static bool is_late(const struct dnsoperator_roll *r, uint64_t now)
{
	return r->wants && now >= r->since_ns + r->late_ns;
}

void dnsoperator_roll_done(struct dnsoperator_roll *r)
{
	for (size_t i = 0; i < r->servers.n; i++)
		free(r->servers.v[i].name);
	vec_done(&r->servers);
}

bool dnsoperator_roll_want(struct dnsoperator_roll *r, const char *hash, uint64_t late_ns,
			   uint64_t age, uint64_t now)
{
	r->late_ns = late_ns;
	if (r->wants == (hash != NULL) && (hash == NULL || strcmp(r->wanted, hash) == 0))
		return false;
	r->wants = hash != NULL;
	snprintf(r->wanted, sizeof(r->wanted), "%s", hash != NULL ? hash : "");
	r->since_ns = now - MIN(age, now);
	r->told_late = r->told_new = false;
	r->rounds = 0;
	r->all_ns = now + ALL_NS;
	for (size_t i = 0; i < r->servers.n; i++) {
		r->servers.v[i].due = true;
		r->servers.v[i].fresh = false;
	}
	return true;
}

bool dnsoperator_roll_doubt(struct dnsoperator_roll *r, uint64_t now)
{
	r->doubt_ns = now + r->late_ns;
	r->rounds = 0;
	for (size_t i = 0; i < r->servers.n; i++)
		r->servers.v[i].due = true;
	return r->wants;
}

/* ---- who is there ---- */

static int by_name(const void *a, const void *b)
{
	const struct dnsoperator_roll_entry *x = a, *y = b;
	return strcmp(x->name, y->name);
}

static struct dnsoperator_roll_entry *find(const struct dnsoperator_roll *r,
					   const struct dnsoperator_server_at *at)
{
	struct dnsoperator_roll_entry key = { .name = (char *)(uintptr_t)at->name };
	struct dnsoperator_roll_entry *e =
		r->servers.n == 0 ? NULL
				  : bsearch(&key, r->servers.v, r->servers.n, sizeof(key), by_name);
	bool same = e != NULL && net_addr_same_ip(&e->addr, &at->addr) &&
		    net_addr_port(&e->addr) == net_addr_port(&at->addr);
	return same ? e : NULL;
}

bool dnsoperator_roll_take(struct dnsoperator_roll *r, const struct dnsoperator_server_at *v,
			   size_t n)
{
	struct dnsoperator_roll now = *r;
	size_t kept = 0;
	now.servers.v = NULL;
	now.servers.n = now.servers.cap = 0;
	for (size_t i = 0; i < n; i++) {
		const struct dnsoperator_roll_entry *old = find(r, &v[i]);
		struct dnsoperator_roll_entry *e = vec_add(&now.servers);
		kept += old != NULL;
		if (old != NULL)
			*e = *old;
		else
			*e = (struct dnsoperator_roll_entry){ .addr = v[i].addr, .due = true };
		e->name = xstrdup(v[i].name);
	}
	if (n != 0)
		qsort(now.servers.v, n, sizeof(*now.servers.v), by_name);
	if (kept < n)
		now.rounds = 0;
	/* somebody new has said nothing yet */
	bool changed = kept < r->servers.n || (!r->taken && n == 0);
	now.taken = true;
	dnsoperator_roll_done(r);
	*r = now;
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

static bool any_due(const struct dnsoperator_roll *r)
{
	for (size_t i = 0; i < r->servers.n; i++) {
		if (r->servers.v[i].due)
			return true;
	}
	return false;
}

static void begin_round(struct dnsoperator_roll *r, uint64_t now)
{
	bool some = now >= r->next_ns, all = now >= r->all_ns || (some && now < r->doubt_ns);
	if (now >= r->all_ns)
		r->all_ns = now + ALL_NS;
	for (size_t i = 0; i < r->servers.n; i++) {
		struct dnsoperator_roll_entry *e = &r->servers.v[i];
		e->due = all || (some && !is_settled(r, e));
	}
}

size_t dnsoperator_roll_due(struct dnsoperator_roll *r, uint64_t now, size_t *ret, size_t max)
{
	size_t n = 0;
	if (!r->wants)
		return 0;
	if (!any_due(r))
		begin_round(r, now);
	for (size_t i = 0; i < r->servers.n && n < max; i++) {
		if (!r->servers.v[i].due)
			continue;
		r->servers.v[i].due = false;
		ret[n++] = i;
	}
	return n;
}

/* A server that fails does not run the marker that is wanted; whether it dropped the one of before
 * it does not show. */
static bool is_answer(const struct dnsoperator_roll *r, const struct dnsoperator_ack *said)
{
	return said->kind == DNSOPERATOR_ACK_TOLD || said->kind == DNSOPERATOR_ACK_OTHER ||
	       (said->kind == DNSOPERATOR_ACK_FAILED && r->wanted[0] != '\0');
}

static bool note(const struct dnsoperator_roll *r, struct dnsoperator_roll_entry *e,
		 const struct dnsoperator_ack *said)
{
	bool reached = is_answer(r, said);
	/* like no text, not even one without a marker */
	const char *hash = said->kind == DNSOPERATOR_ACK_FAILED ? "failed" : said->hash;
	bool first = reached && !e->fresh;
	e->fresh = e->fresh || reached;
	e->silent = reached ? 0 : MIN(e->silent + 1, (unsigned)SILENT);
	if (!reached && e->silent < SILENT)
		return false;
	bool changed = first || !e->told || e->reached != reached || e->why != said->why ||
		       strcmp(e->hash, hash) != 0;
	e->told = true;
	e->reached = reached;
	e->why = said->why;
	snprintf(e->hash, sizeof(e->hash), "%s", hash);
	return changed;
}

/* Twice as long each time, but not long beside the time that the text has been there: so that what
 * is told is never much older than what is. */
static uint64_t pause_ns(const struct dnsoperator_roll *r, uint64_t now)
{
	uint64_t cap = r->apart ? MOST_APART_NS : MOST_NS;
	uint64_t most = MIN(MAX((now - r->since_ns) / 4, YOUNG_NS), cap);
	return MIN(FIRST_NS << MIN(r->rounds, 10u), most);
}

bool dnsoperator_roll_hear(struct dnsoperator_roll *r, const size_t *which,
			   const struct dnsoperator_ack *said, size_t n)
{
	bool changed = false;
	for (size_t i = 0; i < n; i++) {
		if (is_answer(r, &said[i]))
			changed = note(r, &r->servers.v[which[i]], &said[i]) || changed;
	}
	return changed;
}

bool dnsoperator_roll_answer(struct dnsoperator_roll *r, const size_t *which,
			     const struct dnsoperator_ack *said, size_t n, uint64_t now)
{
	bool changed = !r->told_new;
	r->told_new = true;
	for (size_t i = 0; i < n; i++)
		changed = note(r, &r->servers.v[which[i]], &said[i]) || changed;
	bool open = unsettled(r) != 0;
	if (!open && now >= r->doubt_ns) {
		r->rounds = 0;
		r->next_ns = now;
		return changed;
	}
	if (n != 0 && !any_due(r)) {
		r->next_ns = now + pause_ns(r, now);
		r->rounds++;
	}
	if (open && is_late(r, now) && !r->told_late)
		changed = r->told_late = true;
	return changed;
}

uint64_t dnsoperator_roll_again(const struct dnsoperator_roll *r, uint64_t now)
{
	uint64_t at = r->all_ns;
	bool open = unsettled(r) != 0;
	if (!r->wants || r->servers.n == 0)
		return 0;
	if (any_due(r))
		return SOON_NS;
	if (open || now < r->doubt_ns)
		at = MIN(at, r->next_ns);
	if (open && !r->told_late)
		at = MIN(at, r->since_ns + r->late_ns);
	return at > now + SOON_NS ? at - now : SOON_NS;
}

/* That a server ran the wanted text at another time is no proof that it does now. */
static const char *shown_hash(const struct dnsoperator_roll *r,
			      const struct dnsoperator_roll_entry *e, struct arena *a)
{
	return !e->fresh && strcmp(e->hash, r->wanted) == 0 ? "of before"
							    : arena_strdup(a, e->hash);
}

bool dnsoperator_roll_view(const struct dnsoperator_roll *r, uint64_t now, struct arena *a,
			   struct dnsoperator_instances *ret)
{
	struct dnsoperator_instance *v = arena_calloc(a, (r->servers.n + 1) * sizeof(*v));
	*ret = (struct dnsoperator_instances){ .v = v,
					       .late = is_late(r, now),
					       .asked_for = arena_strdup(a, r->wanted) };
	for (size_t i = 0; i < r->servers.n; i++) {
		const struct dnsoperator_roll_entry *e = &r->servers.v[i];
		if (!e->told)
			return false;
		v[ret->n++] = (struct dnsoperator_instance){
			.name = arena_strdup(a, e->name),
			.reached = e->reached,
			.hash = e->reached ? shown_hash(r, e, a) : "",
			.why = e->reached ? NULL : e->why,
		};
	}
	return r->taken;
}
