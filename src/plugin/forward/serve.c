/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The life of a query in forward: which stanza accepts it, which upstream is asked, what its reply
 * or its silence means. The rules are CoreDNS's; times, retries and counts are the same
 * unless docs/differences.md says otherwise.
 *
 * serve starts a first try and waits. Each reply or error resumes the query, which is then
 * answered, or another try is started. With `hedge` a timer may start a second try beside the
 * first. */
#include "plugin/forward/serve.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "plugin/forward/cookies.h"
#include "plugin/forward/count.h"
#include "plugin/forward/message.h"
#include "plugin/forward/policy.h"
#include "resolve/health.h"
#include "resolve/resolver.h"

enum {
	LATE_MAX = 3, /* late this often in a row: asked last while a health check runs */
};

static enum verdict serve_from(struct forward_query *query, unsigned stanza);
static enum verdict next_try(struct forward_query *query);

/* ---- stanzas ---- */

static bool matches_stanza(const struct forward_stanza *stanza, const struct dns_qname *name)
{
	if (stanza->from[0] != 0 && !dns_name_is_below(name->wire, stanza->from))
		return false;
	if (stanza->except.n == 0 || zone_list_match(&stanza->except, name) < 0)
		return true;
	return dns_name_eq(name->wire, stanza->from); /* FROM itself is never excluded */
}

/* Counts itself before it looks, so that there are never too many. */
static bool enter_stanza(struct forward_query *query)
{
	const struct forward_stanza *stanza = query->stanza;
	if (stanza->max_concurrent == 0)
		return true;
	assert(!query->counted);
	_Atomic uint64_t *active = &query->conf->active[stanza->index].n;
	query->counted =
		atomic_fetch_add_explicit(active, 1, memory_order_relaxed) < stanza->max_concurrent;
	if (!query->counted)
		atomic_fetch_sub_explicit(active, 1, memory_order_relaxed);
	return query->counted;
}

static void cancel_tries(struct forward_query *query)
{
	for (int i = 0; i < FORWARD_TRIES; i++) {
		struct forward_try *try = query->tries[i];
		if (try == NULL)
			continue;
		if (try->state == FORWARD_TRY_RUNNING)
			resolve_cancel(query->worker->resolver, &try->exchange);
		try->state = FORWARD_TRY_IDLE;
	}
}

static void leave_stanza(struct forward_query *query)
{
	if (query->stanza == NULL)
		return;
	cancel_tries(query);
	if (query->counted) {
		uint64_t before = atomic_fetch_sub_explicit(
			&query->conf->active[query->stanza->index].n, 1, memory_order_relaxed);
		assert(before != 0);
	}
	query->counted = false;
	query->stanza = NULL;
}

/* ---- the end ---- */

/* As Go's network errors read, since logs are searched for them:
 *	read udp 192.0.2.1:4242->192.0.2.2:53: i/o timeout
 *	dial tcp 192.0.2.2:53: connect: connection refused */
static enum verdict fail_with_error(struct forward_query *query)
{
	struct query *q = query->q;
	bool sent = query->fail_local.family != AF_UNSPEC;
	char local[NET_ADDR_TEXT_MAX] = "";
	const char *step = "";
	if (query->fail_error == ERR_CLOSED)
		return query_fail(q, DNS_RCODE_SERVFAIL, "EOF");
	if (query->fail_result == RESOLVE_GARBLED)
		return query_failf(q, DNS_RCODE_SERVFAIL, "dns: malformed reply from %s",
				   query->failed->text);
	if (sent)
		net_addr_str(&query->fail_local, local);
	if (query->fail_result == RESOLVE_NETWORK && query->fail_error != ERR_TLS)
		step = sent ? "read: " : "connect: ";
	return query_failf(q, DNS_RCODE_SERVFAIL, "%s %s %s%s%s: %s%s", sent ? "read" : "dial",
			   query->fail_proto == RESOLVE_UDP ? "udp" : "tcp", local,
			   sent ? "->" : "", query->failed->text, step, query->fail_text);
}

/* It never left this host: too much under way, no descriptor, no port, no memory. */
static bool is_local_limit(int error)
{
	static const int limits[] = { ERR_BUSY, ERR_LIMIT,	-EMFILE, -ENFILE,
				      -ENOBUFS, -EADDRNOTAVAIL, -ENOMEM, -EAGAIN };
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		if (error == limits[i])
			return true;
	}
	return false;
}

static enum verdict fail_query(struct forward_query *query)
{
	bool tried = query->failed != NULL;
	if (tried && query->fail_result == RESOLVE_NETWORK && is_local_limit(query->fail_error))
		query->q->hit_limit = true;
	enum verdict v = tried ? fail_with_error(query)
			       : query_fail(query->q, DNS_RCODE_SERVFAIL, "no healthy proxies");
	leave_stanza(query);
	return v;
}

static enum verdict out_of_memory(struct forward_query *query)
{
	leave_stanza(query);
	return query_fail_limit(query->q, "out of query memory");
}

static enum verdict finish_answered(struct forward_query *query)
{
	leave_stanza(query);
	return V_ANSWERED;
}

static enum verdict answer_formerr(struct forward_query *query)
{
	query_reply(query->q);
	query->q->resp.rcode = DNS_RCODE_FORMERR;
	return finish_answered(query);
}

/* ---- tries ---- */

static void exchange_done(struct resolve_exchange *exchange)
{
	struct forward_try *try = CONTAINER_OF(exchange, struct forward_try, exchange);
	struct query *q = try->query->q;
	assert(try->state == FORWARD_TRY_RUNNING && try->query->stanza != NULL);
	try->state = FORWARD_TRY_ENDED;
	try->reply = NULL;
	if (exchange->result == RESOLVE_OK ||
	    exchange->result == RESOLVE_MISMATCH) { /* gone after this call */
		try->reply = arena_memdup(&q->arena, exchange->reply, exchange->reply_n);
		try->flags = dns_get16(exchange->reply + 2);
	}
	query_resume(q);
}

static uint64_t try_deadline(const struct forward_query *query,
			     const struct resolve_upstream *upstream, uint64_t now)
{
	uint64_t ns = (uint64_t)query->stanza->read_timeout_ns;
	if (upstream->conf.transport == RESOLVE_TLS)
		ns = query->stanza->attempts == 1 ? FORWARD_DEADLINE_NS : MAX(ns, FORWARD_TLS_NS);
	return MIN(now + ns, query->deadline_ns);
}

static bool over_tcp(const struct forward_query *query)
{
	const struct forward_stanza *stanza = query->stanza;
	return stanza->force_tcp || (!stanza->prefer_udp && query->q->proto == QUERY_TCP);
}

/* CoreDNS waits for an error; here, half a time-out without any reply already starts a health
 * check. */
static void watch_silence(const struct forward_query *query, struct forward_up *up, uint64_t now)
{
	if (up->silent_since == 0)
		up->silent_since = now;
	else if (query->stanza->max_fails != 0 &&
		 now - up->silent_since > (uint64_t)query->stanza->read_timeout_ns / 2)
		resolve_health_kick(query->worker->resolver, up->upstream);
}

static int start_try(struct forward_query *query, struct forward_try *try, unsigned up, bool tcp)
{
	assert(try->state == FORWARD_TRY_IDLE && up < query->stanza->n_up);
	struct forward_up *u = forward_up(query, up);
	uint64_t now = query_now(query->q);
	memset(&try->exchange, 0, sizeof(try->exchange));
	try->query = query;
	try->up = (uint8_t)up;
	try->start_ns = now;
	try->exchange.up = u->upstream;
	try->exchange.msg = query->msg;
	try->exchange.msg_n = query->msg_n;
	try->exchange.tcp = tcp;
	try->exchange.random_case = query->stanza->random_case;
	try->exchange.question_hash = query->q->qname.hash[0] + query->q->req.qtype;
	try->exchange.deadline_ns = try_deadline(query, u->upstream, now);
	try->exchange.done = exchange_done;
	if (query->stanza->cookies) {
		if (forward_cookie_message(query, u, &try->exchange) < 0)
			return ERR_SPACE;
	} else if (try != &query->first_try) { /* the id in it is overwritten */
		try->exchange.msg = arena_memdup(&query->q->arena, query->msg, query->msg_n);
		if (try->exchange.msg == NULL)
			return ERR_SPACE;
	}
	watch_silence(query, u, now);
	query->upstream = u->upstream->text;
	forward_count_asked(query, u);
	try->state = FORWARD_TRY_RUNNING;
	resolve_start(query->worker->resolver, &try->exchange);
	return 0;
}

static bool is_late(const struct forward_query *query, unsigned index)
{
	struct forward_up *up = forward_up(query, index);
	if (up->late < LATE_MAX)
		return false;
	if (atomic_load_explicit(&up->upstream->probing, memory_order_relaxed))
		return true;
	up->late = 0; /* the check was answered */
	return false;
}

/* The next upstream of the list. -1: there is none to be asked, -2: no memory. */
static int pick_upstream(struct forward_query *query)
{
	const struct forward_stanza *stanza = query->stanza;
	for (;;) {
		if (query->at >= stanza->n_up) {
			query->at = 0;
			query->fails = 0;
		}
		int i = forward_policy_at(query, query->at++);
		if (i < 0)
			return -2;
		if (!resolve_upstream_down(forward_up(query, (unsigned)i)->upstream,
					   (uint32_t)stanza->max_fails)) {
			/* Those that are late come when all have been passed over. */
			if (stanza->hedge_ns == 0 || query->skipped >= stanza->n_up ||
			    !is_late(query, (unsigned)i))
				return i;
			query->skipped++;
			continue;
		}
		if (++query->fails < stanza->n_up)
			continue;
		forward_count_broken(query);
		if (stanza->failfast)
			return -1;
		/* Health checks must be broken: try any. */
		return (int)rng_below(query_rng(query->q), stanza->n_up);
	}
}

static bool attempts_left(const struct forward_query *query)
{
	return query->stanza->attempts == 0 || query->attempts < query->stanza->attempts;
}

static enum verdict wait_for_tries(struct forward_query *query)
{
	if (query->hedge_at_ns != 0)
		query_resume_at(query->q, query->hedge_at_ns);
	return V_WAIT;
}

static enum verdict next_try(struct forward_query *query)
{
	uint64_t now = query_now(query->q);
	if (now >= query->deadline_ns || !attempts_left(query) || query_client_gone(query->q))
		return fail_query(query);
	int up = pick_upstream(query);
	if (up == -1)
		return fail_query(query);
	if (up < 0 || start_try(query, &query->first_try, (unsigned)up, over_tcp(query)) < 0)
		return out_of_memory(query);
	query->hedge_at_ns =
		query->stanza->hedge_ns != 0 ? now + (uint64_t)query->stanza->hedge_ns : 0;
	return wait_for_tries(query);
}

/* The other one may have ended in the same turn, with a reply that is handled next. */
static bool other_runs(const struct forward_query *query, const struct forward_try *try)
{
	const struct forward_try *other = query->tries[try == &query->first_try];
	return other != NULL && other->state != FORWARD_TRY_IDLE;
}

/* The first has not replied yet: ask another, or the same one again when there is no other. */
static enum verdict start_hedge(struct forward_query *query)
{
	struct forward_try *try = &query->first_try;
	struct forward_up *slow = forward_up(query, try->up);
	unsigned up = try->up;
	query->hedge_at_ns = 0;
	if (slow->late < UINT8_MAX)
		slow->late++;
	if (query->stanza->max_fails != 0)
		resolve_health_kick(query->worker->resolver, slow->upstream);
	for (unsigned i = 0; i < query->stanza->n_up && up == try->up; i++) {
		int k = forward_policy_at(query, (query->at + i) % query->stanza->n_up);
		if (k < 0)
			return out_of_memory(query);
		if (!resolve_upstream_down(forward_up(query, (unsigned)k)->upstream,
					   (uint32_t)query->stanza->max_fails) &&
		    !is_late(query, (unsigned)k))
			up = (unsigned)k;
	}
	if (query->tries[1] == NULL)
		query->tries[1] = arena_calloc(&query->q->arena, sizeof(*query->tries[1]));
	if (query->tries[1] == NULL || start_try(query, query->tries[1], up, over_tcp(query)) < 0)
		return out_of_memory(query);
	return V_WAIT;
}

/* ---- what came of a try ---- */

static enum verdict try_failed(struct forward_query *query, struct forward_try *try)
{
	struct forward_up *up = forward_up(query, try->up);
	query->failed = up->upstream;
	query->fail_result = try->exchange.result;
	query->fail_proto = try->exchange.proto;
	query->fail_error = try->exchange.error;
	query->fail_local = try->exchange.local;
	query->fail_text = try->exchange.error_text;
	if (up->late < UINT8_MAX)
		up->late++;
	if (query->stanza->max_fails != 0)
		resolve_health_kick(query->worker->resolver, up->upstream);
	query->attempts++;
	if (other_runs(query, try))
		return V_WAIT;
	if (!attempts_left(query) || query->fails >= query->stanza->n_up)
		return fail_query(query);
	return next_try(query);
}

static enum verdict repeat_try(struct forward_query *query, struct forward_try *try, bool tcp)
{
	if (start_try(query, try, try->up, tcp) < 0)
		return out_of_memory(query);
	return V_WAIT;
}

/* Header and question only: what CoreDNS makes of a reply longer than the client's size, which it
 * cannot read whole. */
static void take_header(struct forward_query *query, const struct forward_try *try)
{
	query_reply(query->q);
	query->q->resp.flags = (uint16_t)((try->flags & 0xfff0) | DNS_FLAG_TC);
	query->q->resp.rcode = try->flags & 15;
}

/* An OPT at the end is read out and cut off: what is left goes to the client byte by byte. */
static void set_body(const struct forward_query *query, struct dns_resp *resp)
{
	if (dns_get16(resp->msg + 4) != 1)
		return; /* of an UPDATE */
	if (resp->has_opt) {
		if (resp->opt_at == 0)
			return;
		resp->msg_len = resp->opt_at;
		dns_put16(resp->msg + 10, resp->count[DNS_ADDITIONAL]);
	}
	resp->body_at = (uint16_t)(DNS_HEADER_BYTES + query->q->req.question_len);
}

/* The reply into q->resp. */
static int take_reply(struct forward_query *query, struct forward_try *try)
{
	struct dns_resp *resp = &query->q->resp;
	bool too_long =
		try->exchange.proto == RESOLVE_UDP && try->exchange.reply_n > query->udp_max;
	if (too_long || try->reply == NULL) { /* no room now: the client may ask over TCP */
		take_header(query, try);
		return 0;
	}
	int err = dns_resp_from_wire(resp, &query->q->arena, try->reply, try->exchange.reply_n);
	if (err < 0)
		return err;
	size_t size = dns_resp_open_size(resp);
	resp->full_size =
		(uint32_t)(size + (resp->has_opt ? DNS_OPT_BYTES + resp->options_len : 0));
	set_body(query, resp);
	return 0;
}

static bool has_rcode(uint32_t set, uint16_t rcode)
{
	return rcode < 32 && (set >> rcode & 1) != 0;
}

/* Is the next stanza to be asked instead of taking this reply? */
static bool goes_on(const struct forward_query *query)
{
	const struct dns_resp *resp = &query->q->resp;
	if (query->stanza->index + 1 >= query->conf->n_stanza)
		return false;
	return has_rcode(query->stanza->next_rcodes, resp->rcode) ||
	       (query->stanza->next_on_nodata && resp->rcode == DNS_RCODE_NOERROR &&
		resp->count[DNS_ANSWER] == 0);
}

static enum verdict judge_reply(struct forward_query *query, struct forward_try *try)
{
	const struct forward_stanza *stanza = query->stanza;
	const struct dns_resp *resp = &query->q->resp;
	if (stanza->prefer_udp && (resp->flags & DNS_FLAG_TC) != 0 && !try->exchange.tcp)
		return repeat_try(query, try, true);
	if (has_rcode(stanza->failover_rcodes, resp->rcode) && ++query->failovers < stanza->n_up)
		return other_runs(query, try) ? V_WAIT : next_try(query);
	if (goes_on(query)) {
		unsigned next = stanza->index + 1;
		leave_stanza(query);
		return serve_from(query, next);
	}
	return finish_answered(query);
}

static enum verdict check_cookie(struct forward_query *query, struct forward_try *try)
{
	switch (forward_cookie_check(query, forward_up(query, try->up), &try->exchange)) {
	case FORWARD_COOKIE_FINE:
		break;
	case FORWARD_COOKIE_FORGED:
		try->exchange.result = RESOLVE_GARBLED;
		return try_failed(query, try);
	case FORWARD_COOKIE_AGAIN:
		return repeat_try(query, try, false);
	case FORWARD_COOKIE_TCP:
		return repeat_try(query, try, true);
	}
	return judge_reply(query, try);
}

/* A question that is not even whole is no question. */
static bool is_garbled(const struct forward_try *try)
{
	size_t n = try->reply != NULL ? try->exchange.reply_n : 0;
	if (n < DNS_HEADER_BYTES || dns_get16(try->reply + 4) == 0)
		return n < DNS_HEADER_BYTES;
	int end = dns_name_skip(try->reply, n, DNS_HEADER_BYTES);
	return end < 0 || (size_t)end + 4 > n;
}

static enum verdict try_ended(struct forward_query *query, struct forward_try *try)
{
	assert(query->stanza != NULL && try->state == FORWARD_TRY_ENDED);
	struct forward_up *up = forward_up(query, try->up);
	try->state = FORWARD_TRY_IDLE;
	forward_count_conn(query, up, &try->exchange);
	if (try->exchange.result != RESOLVE_OK && try->exchange.result != RESOLVE_MISMATCH)
		return try_failed(query, try);
	if (try->reply == NULL && query->q->proto != QUERY_UDP)
		return out_of_memory(query);
	bool mismatch = try->exchange.result == RESOLVE_MISMATCH;
	if (mismatch ? is_garbled(try) : take_reply(query, try) < 0) {
		try->exchange.result = RESOLVE_GARBLED;
		return try_failed(query, try);
	}
	up->late = 0;
	up->silent_since = 0;
	uint16_t rcode = mismatch ? try->flags & 15 : query->q->resp.rcode;
	forward_count_reply(query, up, rcode, query_now(query->q) - try->start_ns);
	if (mismatch)
		return answer_formerr(query);
	return query->stanza->cookies ? check_cookie(query, try) : judge_reply(query, try);
}

/* ---- entries ---- */

static enum verdict serve_from(struct forward_query *query, unsigned stanza)
{
	const struct forward_conf *conf = query->conf;
	assert(query->stanza == NULL && !query->counted);
	while (stanza < conf->n_stanza && !matches_stanza(&conf->stanza[stanza], &query->q->qname))
		stanza++;
	if (stanza == conf->n_stanza)
		return V_NEXT;
	query->stanza = &conf->stanza[stanza];
	if (!query_may_wait(query->q)) {
		leave_stanza(query);
		return query_fail_limit(query->q, NULL);
	}
	if (!enter_stanza(query)) {
		forward_count_rejected(query);
		const char *text = query->stanza->too_many;
		leave_stanza(query);
		return query_fail(query->q, DNS_RCODE_REFUSED, text);
	}
	uint64_t due = query_now(query->q) + FORWARD_DEADLINE_NS;
	query->deadline_ns = query->q->deadline_ns != 0 ? MIN(due, query->q->deadline_ns) : due;
	query->at = query->fails = query->skipped = query->failovers = 0;
	query->attempts = 0;
	query->list = NULL;
	query->failed = NULL;
	query->cookie_again = false;
	if (forward_message_build(query) < 0)
		return out_of_memory(query);
	query->first = (uint8_t)forward_policy_first(query);
	return next_try(query);
}

enum verdict forward_serve(struct plugin_inst *self, struct query *q)
{
	const struct forward_conf *conf = self->conf;
	struct forward_query *query = query_state(q, self);
	if (query == NULL)
		return query_fail_limit(q, "out of query memory");
	query->q = q;
	query->conf = conf;
	query->worker = self->worker_data[query_slot(q)];
	query->tries[0] = &query->first_try;
	return serve_from(query, 0);
}

enum verdict forward_resume(struct plugin_inst *self, struct query *q)
{
	struct forward_query *query = query_state(q, self);
	for (int i = 0; i < FORWARD_TRIES && query->stanza != NULL; i++) {
		if (query->tries[i] == NULL || query->tries[i]->state != FORWARD_TRY_ENDED)
			continue;
		enum verdict v = try_ended(query, query->tries[i]);
		if (v != V_WAIT)
			return v;
	}
	if (query->stanza == NULL || query->hedge_at_ns == 0)
		return V_WAIT;
	if (query_now(q) >= query->hedge_at_ns && query->first_try.state == FORWARD_TRY_RUNNING)
		return start_hedge(query);
	return wait_for_tries(query);
}

void forward_done(struct plugin_inst *self, struct query *q)
{
	struct forward_query *query = query_state(q, self);
	if (query != NULL)
		leave_stanza(query);
}
