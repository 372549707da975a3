/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams the records of a zone's copy, the SOA record again at the end (RFC 5936, RFC 1995). */
#include "plugin/shared/zonesender.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "dns/resp.h"
#include "plugin/shared/clientshare.h"
#include "plugin/shared/ixfrserial.h"
#include "plugin/shared/zonecopy.h"
#include "server/conn/client.h"

enum {
	/* At once, of all clients; a copy of a large zone takes memory until the last byte is
	 * sent. */
	RUNNING_MAX = 32,
	/* Records of a message, names written out: as far as compression reaches. One that is
	 * larger goes alone. */
	MESSAGE_BYTES = 16000,
	RR_FIXED = 10,
	SOA_NUMBERS = 20, /* bytes behind its names, the serial first */
};
static const uint64_t poll_ns = 2 * NS_PER_MS; /* whether a copy is there */

struct zonesender {
	const struct zonecopier_source *source;
	const char *area;
	enum log_level level;
	struct zonecopier *copier;
	struct clientshare running;
};

struct zonesender *zonesender_new(const struct zonecopier_source *source, const char *area,
				  enum log_level level)
{
	struct zonesender *s = xcalloc(1, sizeof(*s));
	s->source = source;
	s->area = area;
	s->level = level;
	s->copier = zonecopier_new();
	clientshare_init(&s->running, RUNNING_MAX);
	return s;
}

void zonesender_free(struct zonesender *sender)
{
	if (sender == NULL)
		return;
	zonecopier_free(sender->copier);
	clientshare_done(&sender->running);
	free(sender);
}

/* ---- messages ---- */

static const uint8_t *same_owner(const struct query *q, const struct dns_rr *rr)
{
	const struct dns_rr *last = q->resp.last[DNS_ANSWER];
	return last != NULL && dns_name_eq_case(last->owner, rr->owner) ? last->owner : NULL;
}

/* The records point at the copy's buffers, which the next one overwrites. */
static int add_record(struct query *q, const struct dns_rr *rr)
{
	struct dns_rr kept = *rr;
	kept.owner = same_owner(q, rr);
	if (kept.owner == NULL)
		kept.owner = arena_memdup(&q->arena, rr->owner, rr->owner_len);
	kept.rdata = arena_memdup(&q->arena, rr->rdata, rr->rdlen);
	if (kept.owner == NULL || kept.rdata == NULL)
		return ERR_SPACE;
	return dns_resp_add(&q->resp, &q->arena, DNS_ANSWER, &kept);
}

/* Takes the next record to `rr`; false: there is none. */
static bool have_record(struct zonesender_state *state)
{
	if (state->pending)
		return true;
	if (state->whole)
		return false;
	state->pending = true;
	if (state->job->copy->next(state->job->copy, &state->rr) <= 0) {
		state->rr = state->soa;
		state->whole = true;
	}
	return true;
}

/* In CoreDNS's words, for which logs are searched. */
static void log_transfer(struct query *q, const struct zonesender_state *state, bool current)
{
	struct slice name = query_name_text(q), client = query_client_text(q);
	uint32_t serial = dns_get32(state->soa.rdata + state->soa.rdlen - SOA_NUMBERS);
	if (current)
		query_logf(
			q, state->sender->level, state->sender->area,
			"Outgoing noop, incremental transfer for up to date zone \"%.*s\" to %.*s "
			"for %u SOA serial",
			(int)name.n, name.p, (int)client.n, client.p, serial);
	else
		query_logf(q, state->sender->level, state->sender->area,
			   "Outgoing transfer of %llu records of zone \"%.*s\" to %.*s for %u SOA "
			   "serial",
			   (unsigned long long)state->records, (int)name.n, name.p, (int)client.n,
			   client.p, serial);
}

static int next_message(struct plugin_inst *self, struct query *q)
{
	struct zonesender_state *s = query_state_get(q, self);
	size_t bytes = 0;
	query_reply(q);
	q->resp.flags |= DNS_FLAG_AA;
	while (have_record(s)) {
		size_t n = (size_t)s->rr.owner_len + RR_FIXED + s->rr.rdlen;
		bool empty = q->resp.count[DNS_ANSWER] == 0;
		if (!empty && bytes + n > MESSAGE_BYTES)
			return 1;
		if (add_record(q, &s->rr) < 0)
			return empty ? ERR_SPACE : 1;
		bytes += n;
		s->pending = false;
		s->records++;
	}
	log_transfer(q, s, false);
	return 0;
}

/* ---- queries ---- */

enum verdict zonesender_start(struct zonesender *sender, struct plugin_inst *self, struct query *q,
			      struct plugin_inst *from)
{
	struct zonesender_state *s = query_state(q, self);
	uint32_t serial = 0;
	bool incremental = q->req.qtype == DNS_TYPE_IXFR &&
			   ixfrserial_read(q->req.msg, q->req.len, &serial) == 0;
	if (s == NULL || sender == NULL || sender->copier == NULL)
		return query_failf(q, DNS_RCODE_SERVFAIL, "plugin/%s: no memory or thread",
				   self->plugin->name);
	assert(!s->counted && s->job == NULL);
	s->sender = sender;
	s->counted = clientshare_take(&sender->running, client_key(&q->client));
	if (!s->counted)
		return query_failf(q, DNS_RCODE_SERVFAIL, "plugin/%s: too many at once",
				   self->plugin->name);
	s->job = zonecopier_add(sender->copier, sender->source, from, q->qname.wire,
				incremental && serial != 0 ? &serial : NULL);
	query_resume_at(q, query_now(q) + poll_ns);
	return V_WAIT;
}

/* The first record of the copy, which is the last one as well. */
static bool take_soa(struct query *q, struct zonesender_state *state)
{
	struct zone_copy *z = state->job->copy;
	if (z == NULL || z->next(z, &state->rr) <= 0 || state->rr.type != DNS_TYPE_SOA ||
	    state->rr.rdlen < SOA_NUMBERS)
		return false;
	state->soa = state->rr;
	state->soa.owner = arena_memdup(&q->arena, state->rr.owner, state->rr.owner_len);
	state->soa.rdata = arena_memdup(&q->arena, state->rr.rdata, state->rr.rdlen);
	state->pending = true;
	return state->soa.owner != NULL && state->soa.rdata != NULL;
}

/* A client that has this version already; serial 0 asks for all, as in CoreDNS. */
static bool is_current(const struct query *q, const struct zonesender_state *state)
{
	uint32_t serial;
	return q->req.qtype == DNS_TYPE_IXFR &&
	       ixfrserial_read(q->req.msg, q->req.len, &serial) == 0 && serial != 0 &&
	       serial == dns_get32(state->soa.rdata + state->soa.rdlen - SOA_NUMBERS);
}

enum verdict zonesender_resume(struct plugin_inst *self, struct query *q)
{
	struct zonesender_state *s = query_state_get(q, self);
	assert(s != NULL && s->job != NULL); /* of serve */
	if (!atomic_load_explicit(&s->job->ready, memory_order_acquire)) {
		query_resume_at(q, query_now(q) + poll_ns);
		return V_WAIT;
	}
	if (!take_soa(q, s))
		return query_failf(q, DNS_RCODE_SERVFAIL, "plugin/%s: no copy of the zone",
				   self->plugin->name);
	if (is_current(q, s)) {
		query_reply(q);
		log_transfer(q, s, true);
		return add_record(q, &s->soa) == 0 ? V_ANSWERED
						   : query_fail(q, DNS_RCODE_SERVFAIL, NULL);
	}
	q->stream_next = next_message;
	return V_STREAM;
}

void zonesender_done(struct plugin_inst *self, struct query *q)
{
	struct zonesender_state *s = query_state_get(q, self);
	if (s == NULL || s->sender == NULL)
		return;
	if (s->counted)
		clientshare_put(&s->sender->running, client_key(&q->client));
	s->counted = false;
	if (s->job != NULL)
		zonecopier_drop(s->sender->copier, s->job);
	s->job = NULL;
}
