/* SPDX-License-Identifier: GPL-3.0-or-later */
/* transfer: sends whole zones to the listed clients (AXFR, RFC 5936; IXFR, RFC 1995, with the
 * whole zone or nothing but its SOA), and NOTIFY to them. The zones come from other plugins. */
#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "dns/resp.h"
#include "plugin/shared/zonecopy.h"
#include "plugin/transfer/copier.h"
#include "plugin/transfer/ixfr.h"
#include "plugin/transfer/notify.h"
#include "plugin/transfer/secondaries.h"
#include "server/query.h"
#include "server/setup.h"

#define AREA "plugin/transfer"

enum {
	/* At once; a copy of a large zone takes memory until the last byte is sent. */
	RUNNING_MAX = 32,
	/* Records of a message, names written out: as far as compression reaches. One that is
	 * larger goes alone. */
	MESSAGE_BYTES = 16000,
	RR_FIXED = 10,
	SOA_NUMBERS = 20, /* bytes behind its names, the serial first */
};
static const uint64_t poll_ns = 2 * NS_PER_MS; /* whether a copy is there */

struct stanza {
	struct zone_list zones;
	struct transfer_secondaries secondaries;
};

struct transfer_conf {
	struct stanza *stanza;
	size_t n;
	struct plugin_inst **from; /* the plugins of the block that have zones */
	size_t n_from;
	struct transfer_copier *copier;
	atomic_uint running;
};

struct transfer_state {
	struct transfer_job *job;
	bool counted;	   /* among `running` */
	bool pending;	   /* `rr` was not sent yet */
	bool whole;	   /* all but the last SOA record was */
	struct dns_rr rr;  /* the copy's; */
	struct dns_rr soa; /* ours */
	uint64_t records;
};

/* ---- set-up ---- */

static const struct opt transfer_opts[] = {
	{ "<zones...>", OPT_LIST, 0, .args = "ZONE...",
	  .help = "zones that may be transferred (default: those of the block)" },
	{ "to", OPT_FN, 0, .fn = transfer_parse_to, .repeatable = true, .args = "ADDRESS...",
	  .help = "clients that may transfer the zones and get NOTIFY; *: any client, no NOTIFY" },
	{ "source", OPT_FN, 0, .fn = transfer_parse_source, .min = 1, .max = 1, .args = "IP",
	  .help = "the address that NOTIFY messages come from" },
};

static int parse_stanza(struct setup *setup, const struct corefile_dir *dir, struct stanza *ret)
{
	int r = setup_zones(setup, dir->arg, dir->n_arg, &ret->zones);
	if (r == 0)
		r = setup_body(setup, dir, transfer_opts, ARRAY_LEN(transfer_opts),
			       &ret->secondaries, setup);
	if (r == 0 && !ret->secondaries.any && ret->secondaries.n == 0)
		return setup_error(setup, dir->name.pos, "'to' is required");
	return r;
}

static int transfer_parse(struct plugin_inst *self, struct setup *setup)
{
	struct transfer_conf *c = self->conf;
	int r = 0;
	c->n = setup->n_dir;
	c->stanza = arena_calloc(setup->arena, c->n * sizeof(*c->stanza));
	for (size_t i = 0; i < c->n && r == 0; i++)
		r = parse_stanza(setup, setup->dir[i], &c->stanza[i]);
	return r;
}

static int transfer_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct transfer_conf *c = self->conf;
	const struct plugin_inst *i;
	(void)prepare;
	for (size_t k = 0; (i = block_inst(self->block, k)) != NULL; k++)
		c->n_from += i->plugin->ops.copy_zone != NULL;
	c->from = xcalloc(c->n_from, sizeof(struct plugin_inst *));
	for (size_t k = 0, n = 0; n < c->n_from; k++) {
		struct plugin_inst *f = block_inst(self->block, k);
		if (f->plugin->ops.copy_zone != NULL)
			c->from[n++] = f;
	}
	return 0;
}

static void transfer_commit(struct plugin_inst *self)
{
	struct transfer_conf *c = self->conf;
	c->copier = transfer_copier_new();
}

static void transfer_teardown(struct plugin_inst *self)
{
	struct transfer_conf *c = self->conf;
	transfer_copier_free(c->copier);
	free(c->from);
	c->copier = NULL;
	c->from = NULL;
	c->n_from = 0;
}

/* ---- who and what ---- */

/* The stanza with the longest zone; of equal ones the first. */
static const struct stanza *find_stanza(const struct transfer_conf *conf,
					const struct dns_qname *qname)
{
	const struct stanza *best = NULL;
	size_t longest = 0;
	for (size_t i = 0; i < conf->n; i++) {
		int z = zone_list_match(&conf->stanza[i].zones, qname);
		size_t n = z >= 0 ? dns_name_len(conf->stanza[i].zones.wire[z]) : 0;
		if (n > longest) {
			longest = n;
			best = &conf->stanza[i];
		}
	}
	return best;
}

static struct plugin_inst *find_owner(const struct transfer_conf *conf, const uint8_t *zone)
{
	for (size_t i = 0; i < conf->n_from; i++) {
		if (conf->from[i]->plugin->ops.has_zone(conf->from[i], zone))
			return conf->from[i];
	}
	return NULL;
}

static void transfer_changed(struct plugin_inst *self, const uint8_t *zone)
{
	const struct transfer_conf *c = self->conf;
	struct dns_qname q;
	char text[DNS_NAME_TEXT_MAX];
	dns_qname_set(&q, zone);
	const struct stanza *s = find_stanza(c, &q);
	if (s == NULL)
		return;
	dns_name_to_text(zone, true, text);
	transfer_notify(&(struct transfer_notify){ .zone = zone,
						   .zone_text = text,
						   .to = s->secondaries.v,
						   .n_to = s->secondaries.n,
						   .source = s->secondaries.source });
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
static bool have_record(struct transfer_state *state)
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
static void log_transfer(struct query *q, const struct transfer_state *state, bool current)
{
	struct slice name = query_name_text(q), client = query_client_text(q);
	uint32_t serial = dns_get32(state->soa.rdata + state->soa.rdlen - SOA_NUMBERS);
	if (current)
		query_logf(
			q, LOG_INFO, AREA,
			"Outgoing noop, incremental transfer for up to date zone \"%.*s\" to %.*s "
			"for %u SOA serial",
			(int)name.n, name.p, (int)client.n, client.p, serial);
	else
		query_logf(q, LOG_INFO, AREA,
			   "Outgoing transfer of %llu records of zone \"%.*s\" to %.*s for %u SOA "
			   "serial",
			   (unsigned long long)state->records, (int)name.n, name.p, (int)client.n,
			   client.p, serial);
}

static int next_message(struct plugin_inst *self, struct query *q)
{
	struct transfer_state *s = query_state_get(q, self);
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

static enum verdict start_transfer(struct plugin_inst *self, struct query *q,
				   struct plugin_inst *from)
{
	struct transfer_conf *c = self->conf;
	struct transfer_state *s = query_state(q, self);
	if (s == NULL || c->copier == NULL)
		return query_fail(q, DNS_RCODE_SERVFAIL, "plugin/transfer: no memory or thread");
	assert(!s->counted && s->job == NULL);
	s->counted = true;
	if (atomic_fetch_add(&c->running, 1) >= RUNNING_MAX)
		return query_fail(q, DNS_RCODE_SERVFAIL, "plugin/transfer: too many at once");
	s->job = transfer_copier_add(c->copier, from, q->qname.wire);
	query_resume_at(q, query_now(q) + poll_ns);
	return V_WAIT;
}

static enum verdict transfer_serve(struct plugin_inst *self, struct query *q)
{
	const struct transfer_conf *c = self->conf;
	uint32_t serial;
	if (q->req.qtype != DNS_TYPE_AXFR && q->req.qtype != DNS_TYPE_IXFR)
		return V_NEXT;
	if (q->proto != QUERY_TCP)
		return query_fail(q, DNS_RCODE_REFUSED, NULL);
	const struct stanza *s = find_stanza(c, &q->qname);
	if (s == NULL)
		return V_NEXT;
	if (!transfer_secondaries_has(&s->secondaries, &q->client))
		return query_fail(q, DNS_RCODE_REFUSED, NULL);
	if (q->req.qtype == DNS_TYPE_IXFR &&
	    transfer_ixfr_serial(q->req.msg, q->req.len, &serial) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, NULL);
	struct plugin_inst *from = find_owner(c, q->qname.wire);
	return from != NULL ? start_transfer(self, q, from) : V_NEXT;
}

/* The first record of the copy, which is the last one as well. */
static bool take_soa(struct query *q, struct transfer_state *state)
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
static bool is_current(const struct query *q, const struct transfer_state *state)
{
	uint32_t serial;
	return q->req.qtype == DNS_TYPE_IXFR &&
	       transfer_ixfr_serial(q->req.msg, q->req.len, &serial) == 0 && serial != 0 &&
	       serial == dns_get32(state->soa.rdata + state->soa.rdlen - SOA_NUMBERS);
}

static enum verdict transfer_resume(struct plugin_inst *self, struct query *q)
{
	struct transfer_state *s = query_state_get(q, self);
	assert(s != NULL && s->job != NULL); /* of serve */
	if (!atomic_load_explicit(&s->job->ready, memory_order_acquire)) {
		query_resume_at(q, query_now(q) + poll_ns);
		return V_WAIT;
	}
	if (!take_soa(q, s))
		return query_fail(q, DNS_RCODE_SERVFAIL, "plugin/transfer: no copy of the zone");
	if (is_current(q, s)) {
		query_reply(q);
		log_transfer(q, s, true);
		return add_record(q, &s->soa) == 0 ? V_ANSWERED
						   : query_fail(q, DNS_RCODE_SERVFAIL, NULL);
	}
	q->stream_next = next_message;
	return V_STREAM;
}

static void transfer_done(struct plugin_inst *self, struct query *q)
{
	struct transfer_conf *c = self->conf;
	struct transfer_state *s = query_state_get(q, self);
	if (s == NULL)
		return;
	if (s->counted) {
		unsigned before = atomic_fetch_sub(&c->running, 1);
		assert(before != 0);
	}
	if (s->job != NULL)
		transfer_copier_drop(c->copier, s->job);
	s->job = NULL;
}

const struct plugin transfer_plugin = {
	.name = "transfer",
	.opts = transfer_opts,
	.n_opts = ARRAY_LEN(transfer_opts),
	.conf_size = sizeof(struct transfer_conf),
	.state_size = sizeof(struct transfer_state),
	.parse = transfer_parse,
	.prepare = transfer_prepare,
	.commit = transfer_commit,
	.teardown = transfer_teardown,
	.serve = transfer_serve,
	.resume = transfer_resume,
	.done = transfer_done,
	.ops = { .zone_changed = transfer_changed },
};
