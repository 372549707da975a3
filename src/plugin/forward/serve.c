/* The life of a query in forward: which stanza takes it, which upstream is asked, what its reply or
 * its silence means. The rules are CoreDNS's (spec 1.5); times, retries and counts are the same
 * unless docs/differences.md says otherwise.
 *
 * serve starts a first try and waits. Each reply or error resumes the query, which is then
 * answered, or another try is started. With `hedge` a timer may start a second try beside the
 * first. */
#include "plugin/forward/serve.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "resolve/health.h"

enum {
	LATE_MAX = 3, /* late this often in a row: asked last while a health check runs */
};

static enum verdict serve_from(struct forward_query *f, unsigned stanza);
static enum verdict next_try(struct forward_query *f);

/* ---- stanzas ---- */

static bool matches(const struct forward_stanza *st, const struct dns_qname *name)
{
	if (st->from[0] != 0 && !dns_name_is_below(name->wire, st->from))
		return false;
	if (st->except.n == 0 || zone_list_match(&st->except, name) < 0)
		return true;
	return dns_name_eq(name->wire, st->from); /* FROM itself is never excluded */
}

/* Counts itself before it looks, so that there are never too many. */
static bool enter(struct forward_query *f)
{
	const struct forward_stanza *st = f->st;
	if (st->max_concurrent == 0)
		return true;
	_Atomic uint64_t *active = &f->conf->active[st->index].n;
	f->counted =
		atomic_fetch_add_explicit(active, 1, memory_order_relaxed) < st->max_concurrent;
	if (!f->counted)
		atomic_fetch_sub_explicit(active, 1, memory_order_relaxed);
	return f->counted;
}

static void cancel_tries(struct forward_query *f)
{
	for (int i = 0; i < FORWARD_TRIES; i++) {
		struct forward_try *t = f->tries[i];
		if (t == NULL)
			continue;
		if (t->state == FORWARD_TRY_RUNNING)
			resolve_cancel(f->w->resolver, &t->x);
		t->state = FORWARD_TRY_IDLE;
	}
}

static void leave(struct forward_query *f)
{
	if (f->st == NULL)
		return;
	cancel_tries(f);
	if (f->counted)
		atomic_fetch_sub_explicit(&f->conf->active[f->st->index].n, 1,
					  memory_order_relaxed);
	f->counted = false;
	f->st = NULL;
}

/* ---- the end ---- */

/* As Go's network errors read, since logs are searched for them:
 *	read udp 192.0.2.1:4242->192.0.2.2:53: i/o timeout
 *	dial tcp 192.0.2.2:53: connect: connection refused */
static enum verdict fail_with_error(struct forward_query *f)
{
	struct query *q = f->q;
	bool sent = f->fail_local.family != AF_UNSPEC;
	char local[NET_ADDR_TEXT_MAX] = "";
	const char *step = "";
	if (f->fail_error == ERR_CLOSED)
		return query_fail(q, DNS_RCODE_SERVFAIL, "EOF");
	if (f->fail_result == RESOLVE_GARBLED)
		return query_failf(q, DNS_RCODE_SERVFAIL, "dns: malformed reply from %s",
				   f->failed->text);
	if (sent)
		net_addr_str(&f->fail_local, local);
	if (f->fail_result == RESOLVE_NETWORK && f->fail_error != ERR_TLS)
		step = sent ? "read: " : "connect: ";
	return query_failf(q, DNS_RCODE_SERVFAIL, "%s %s %s%s%s: %s%s", sent ? "read" : "dial",
			   f->fail_proto == RESOLVE_UDP ? "udp" : "tcp", local, sent ? "->" : "",
			   f->failed->text, step, f->fail_text);
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

static enum verdict give_up(struct forward_query *f)
{
	bool tried = f->failed != NULL;
	if (tried && f->fail_result == RESOLVE_NETWORK && is_local_limit(f->fail_error))
		f->q->hit_limit = true;
	enum verdict v = tried ? fail_with_error(f)
			       : query_fail(f->q, DNS_RCODE_SERVFAIL, "no healthy proxies");
	leave(f);
	return v;
}

static enum verdict out_of_memory(struct forward_query *f)
{
	leave(f);
	return query_fail_limit(f->q, "out of query memory");
}

static enum verdict answer(struct forward_query *f)
{
	leave(f);
	return V_ANSWERED;
}

static enum verdict answer_formerr(struct forward_query *f)
{
	query_reply(f->q);
	f->q->resp.rcode = DNS_RCODE_FORMERR;
	return answer(f);
}

/* ---- tries ---- */

static void exchange_done(struct resolve_exchange *x)
{
	struct forward_try *t = CONTAINER_OF(x, struct forward_try, x);
	struct query *q = t->of->q;
	t->state = FORWARD_TRY_ENDED;
	t->reply = NULL;
	if (x->result == RESOLVE_OK || x->result == RESOLVE_MISMATCH) { /* gone after this call */
		t->reply = arena_memdup(&q->arena, x->reply, x->reply_n);
		t->flags = dns_get16(x->reply + 2);
	}
	query_resume(q);
}

static uint64_t try_deadline(const struct forward_query *f, const struct resolve_upstream *u,
			     uint64_t now)
{
	uint64_t ns = (uint64_t)f->st->read_timeout_ns;
	if (u->conf.transport == RESOLVE_TLS)
		ns = f->st->attempts == 1 ? FORWARD_DEADLINE_NS : MAX(ns, FORWARD_TLS_NS);
	return MIN(now + ns, f->deadline_ns);
}

static bool over_tcp(const struct forward_query *f)
{
	const struct forward_stanza *st = f->st;
	return st->force_tcp || (!st->prefer_udp && f->q->proto == QUERY_TCP);
}

/* CoreDNS waits for an error; that half a time-out has passed without any reply is sign enough to
 * look whether somebody is there. */
static void watch_silence(const struct forward_query *f, struct forward_up *up, uint64_t now)
{
	if (up->silent_since == 0)
		up->silent_since = now;
	else if (f->st->max_fails != 0 &&
		 now - up->silent_since > (uint64_t)f->st->read_timeout_ns / 2)
		resolve_health_kick(f->w->resolver, up->u);
}

static int start_try(struct forward_query *f, struct forward_try *t, unsigned up, bool tcp)
{
	struct forward_up *u = forward_up(f, up);
	uint64_t now = query_now(f->q);
	memset(&t->x, 0, sizeof(t->x));
	t->of = f;
	t->up = (uint8_t)up;
	t->start_ns = now;
	t->x.up = u->u;
	t->x.msg = f->msg;
	t->x.msg_n = f->msg_n;
	t->x.tcp = tcp;
	t->x.random_case = f->st->random_case;
	t->x.question_hash = f->q->qname.hash[0] + f->q->req.qtype;
	t->x.deadline_ns = try_deadline(f, u->u, now);
	t->x.done = exchange_done;
	if (f->st->cookies) {
		if (forward_cookie_message(f, u, &t->x) < 0)
			return ERR_SPACE;
	} else if (t != &f->first_try) { /* the id in it is overwritten */
		t->x.msg = arena_memdup(&f->q->arena, f->msg, f->msg_n);
		if (t->x.msg == NULL)
			return ERR_SPACE;
	}
	watch_silence(f, u, now);
	f->upstream = u->u->text;
	forward_count_asked(f, u);
	t->state = FORWARD_TRY_RUNNING;
	resolve_start(f->w->resolver, &t->x);
	return 0;
}

static bool is_late(const struct forward_query *f, unsigned i)
{
	struct forward_up *up = forward_up(f, i);
	if (up->late < LATE_MAX)
		return false;
	if (atomic_load_explicit(&up->u->probing, memory_order_relaxed))
		return true;
	up->late = 0; /* the check was answered */
	return false;
}

/* The next upstream of the list. -1: there is none to be asked, -2: no memory. */
static int pick(struct forward_query *f)
{
	const struct forward_stanza *st = f->st;
	for (;;) {
		if (f->at >= st->n_up) {
			f->at = 0;
			f->fails = 0;
		}
		int i = forward_policy_at(f, f->at++);
		if (i < 0)
			return -2;
		if (!resolve_upstream_down(forward_up(f, (unsigned)i)->u,
					   (uint32_t)st->max_fails)) {
			/* Those that are late come when all have been passed over. */
			if (st->hedge_ns == 0 || f->skipped >= st->n_up || !is_late(f, (unsigned)i))
				return i;
			f->skipped++;
			continue;
		}
		if (++f->fails < st->n_up)
			continue;
		forward_count_broken(f);
		if (st->failfast)
			return -1;
		/* Health checks must be broken: try any. */
		return (int)rng_below(query_rng(f->q), st->n_up);
	}
}

static bool attempts_left(const struct forward_query *f)
{
	return f->st->attempts == 0 || f->attempts < f->st->attempts;
}

static enum verdict wait_for_tries(struct forward_query *f)
{
	if (f->hedge_at != 0)
		query_resume_at(f->q, f->hedge_at);
	return V_WAIT;
}

static enum verdict next_try(struct forward_query *f)
{
	uint64_t now = query_now(f->q);
	if (now >= f->deadline_ns || !attempts_left(f) || query_client_gone(f->q))
		return give_up(f);
	int up = pick(f);
	if (up == -1)
		return give_up(f);
	if (up < 0 || start_try(f, &f->first_try, (unsigned)up, over_tcp(f)) < 0)
		return out_of_memory(f);
	f->hedge_at = f->st->hedge_ns != 0 ? now + (uint64_t)f->st->hedge_ns : 0;
	return wait_for_tries(f);
}

/* The other one may have ended in the same turn, with a reply that is looked at next. */
static bool other_runs(const struct forward_query *f, const struct forward_try *t)
{
	const struct forward_try *other = f->tries[t == &f->first_try];
	return other != NULL && other->state != FORWARD_TRY_IDLE;
}

/* The first has not replied yet: ask another, or the same one again when there is no other. */
static enum verdict hedge(struct forward_query *f)
{
	struct forward_try *t = &f->first_try;
	struct forward_up *slow = forward_up(f, t->up);
	unsigned up = t->up;
	f->hedge_at = 0;
	if (slow->late < UINT8_MAX)
		slow->late++;
	if (f->st->max_fails != 0)
		resolve_health_kick(f->w->resolver, slow->u);
	for (unsigned i = 0; i < f->st->n_up && up == t->up; i++) {
		int k = forward_policy_at(f, (f->at + i) % f->st->n_up);
		if (k < 0)
			return out_of_memory(f);
		if (!resolve_upstream_down(forward_up(f, (unsigned)k)->u,
					   (uint32_t)f->st->max_fails) &&
		    !is_late(f, (unsigned)k))
			up = (unsigned)k;
	}
	if (f->tries[1] == NULL)
		f->tries[1] = arena_calloc(&f->q->arena, sizeof(*f->tries[1]));
	if (f->tries[1] == NULL || start_try(f, f->tries[1], up, over_tcp(f)) < 0)
		return out_of_memory(f);
	return V_WAIT;
}

/* ---- what came of a try ---- */

static enum verdict try_failed(struct forward_query *f, struct forward_try *t)
{
	struct forward_up *up = forward_up(f, t->up);
	f->failed = up->u;
	f->fail_result = t->x.result;
	f->fail_proto = t->x.proto;
	f->fail_error = t->x.error;
	f->fail_local = t->x.local;
	f->fail_text = t->x.error_text;
	if (up->late < UINT8_MAX)
		up->late++;
	if (f->st->max_fails != 0)
		resolve_health_kick(f->w->resolver, up->u);
	f->attempts++;
	if (other_runs(f, t))
		return V_WAIT;
	if (!attempts_left(f) || f->fails >= f->st->n_up)
		return give_up(f);
	return next_try(f);
}

static enum verdict again(struct forward_query *f, struct forward_try *t, bool tcp)
{
	if (start_try(f, t, t->up, tcp) < 0)
		return out_of_memory(f);
	return V_WAIT;
}

/* Header and question only: what CoreDNS makes of a reply longer than the client's size, which it
 * cannot read whole. */
static void take_header(struct forward_query *f, const struct forward_try *t)
{
	query_reply(f->q);
	f->q->resp.flags = (uint16_t)((t->flags & 0xfff0) | DNS_FLAG_TC);
	f->q->resp.rcode = t->flags & 15;
}

/* An OPT at the end is read out and cut off: what is left goes to the client byte by byte. */
static void set_body(const struct forward_query *f, struct dns_resp *r)
{
	if (r->has_opt) {
		if (r->opt_at == 0)
			return;
		r->msg_len = r->opt_at;
		dns_put16(r->msg + 10, r->count[DNS_ADDITIONAL]);
	}
	r->body_at = (uint16_t)(DNS_HEADER_BYTES + f->q->req.question_len);
}

/* The reply into q->resp. */
static int take_reply(struct forward_query *f, struct forward_try *t)
{
	struct dns_resp *r = &f->q->resp;
	bool too_long = t->x.proto == RESOLVE_UDP && t->x.reply_n > f->udp_max;
	if (too_long || t->reply == NULL) { /* no room now: the client may ask over TCP */
		take_header(f, t);
		return 0;
	}
	int err = dns_resp_from_wire(r, &f->q->arena, t->reply, t->x.reply_n);
	if (err < 0)
		return err;
	size_t size = dns_resp_open_size(r);
	r->full_size = (uint32_t)(size + (r->has_opt ? DNS_OPT_BYTES + r->options_len : 0));
	set_body(f, r);
	return 0;
}

static bool has_rcode(uint32_t set, uint16_t rcode)
{
	return rcode < 32 && (set >> rcode & 1) != 0;
}

/* Is the next stanza to be asked instead of taking this reply? */
static bool goes_on(const struct forward_query *f)
{
	const struct dns_resp *r = &f->q->resp;
	if (f->st->index + 1 >= f->conf->n_stanza)
		return false;
	return has_rcode(f->st->next_rcodes, r->rcode) ||
	       (f->st->next_on_nodata && r->rcode == DNS_RCODE_NOERROR &&
		r->count[DNS_ANSWER] == 0);
}

static enum verdict judge(struct forward_query *f, struct forward_try *t)
{
	const struct forward_stanza *st = f->st;
	const struct dns_resp *r = &f->q->resp;
	if (st->prefer_udp && (r->flags & DNS_FLAG_TC) != 0 && !t->x.tcp)
		return again(f, t, true);
	if (has_rcode(st->failover_rcodes, r->rcode) && ++f->failovers < st->n_up)
		return other_runs(f, t) ? V_WAIT : next_try(f);
	if (goes_on(f)) {
		unsigned next = st->index + 1;
		leave(f);
		return serve_from(f, next);
	}
	return answer(f);
}

static enum verdict check_cookie(struct forward_query *f, struct forward_try *t)
{
	switch (forward_cookie_take(f, forward_up(f, t->up), &t->x)) {
	case FORWARD_COOKIE_FINE:
		break;
	case FORWARD_COOKIE_FORGED:
		t->x.result = RESOLVE_GARBLED;
		return try_failed(f, t);
	case FORWARD_COOKIE_AGAIN:
		return again(f, t, false);
	case FORWARD_COOKIE_TCP:
		return again(f, t, true);
	}
	return judge(f, t);
}

/* A question that is not even whole is no question. */
static bool is_garbled(const struct forward_try *t)
{
	size_t n = t->reply != NULL ? t->x.reply_n : 0;
	if (n < DNS_HEADER_BYTES || dns_get16(t->reply + 4) == 0)
		return n < DNS_HEADER_BYTES;
	int end = dns_name_skip(t->reply, n, DNS_HEADER_BYTES);
	return end < 0 || (size_t)end + 4 > n;
}

static enum verdict try_ended(struct forward_query *f, struct forward_try *t)
{
	struct forward_up *up = forward_up(f, t->up);
	t->state = FORWARD_TRY_IDLE;
	forward_count_conn(f, up, &t->x);
	if (t->x.result != RESOLVE_OK && t->x.result != RESOLVE_MISMATCH)
		return try_failed(f, t);
	if (t->reply == NULL && f->q->proto != QUERY_UDP)
		return out_of_memory(f);
	bool mismatch = t->x.result == RESOLVE_MISMATCH;
	if (mismatch ? is_garbled(t) : take_reply(f, t) < 0) {
		t->x.result = RESOLVE_GARBLED;
		return try_failed(f, t);
	}
	up->late = 0;
	up->silent_since = 0;
	uint16_t rcode = mismatch ? t->flags & 15 : f->q->resp.rcode;
	forward_count_reply(f, up, rcode, query_now(f->q) - t->start_ns);
	if (mismatch)
		return answer_formerr(f);
	return f->st->cookies ? check_cookie(f, t) : judge(f, t);
}

/* ---- entries ---- */

static enum verdict serve_from(struct forward_query *f, unsigned stanza)
{
	const struct forward_conf *c = f->conf;
	while (stanza < c->n_stanza && !matches(&c->stanza[stanza], &f->q->qname))
		stanza++;
	if (stanza == c->n_stanza)
		return V_NEXT;
	f->st = &c->stanza[stanza];
	if (!query_may_wait(f->q)) {
		leave(f);
		return query_fail_limit(f->q, NULL);
	}
	if (!enter(f)) {
		forward_count_rejected(f);
		const char *text = f->st->too_many;
		leave(f);
		return query_fail(f->q, DNS_RCODE_REFUSED, text);
	}
	uint64_t due = query_now(f->q) + FORWARD_DEADLINE_NS;
	f->deadline_ns = f->q->deadline_ns != 0 ? MIN(due, f->q->deadline_ns) : due;
	f->at = f->fails = f->skipped = f->failovers = 0;
	f->attempts = 0;
	f->list = NULL;
	f->failed = NULL;
	f->cookie_again = false;
	if (forward_message_build(f) < 0)
		return out_of_memory(f);
	f->first = (uint8_t)forward_policy_first(f);
	return next_try(f);
}

enum verdict forward_serve(struct plugin_inst *self, struct query *q)
{
	const struct forward_conf *c = self->conf;
	struct forward_query *f = query_state(q, self);
	if (f == NULL)
		return query_fail_limit(q, "out of query memory");
	f->q = q;
	f->conf = c;
	f->w = self->worker_data[query_slot(q)];
	f->tries[0] = &f->first_try;
	return serve_from(f, 0);
}

enum verdict forward_resume(struct plugin_inst *self, struct query *q)
{
	struct forward_query *f = query_state(q, self);
	for (int i = 0; i < FORWARD_TRIES && f->st != NULL; i++) {
		if (f->tries[i] == NULL || f->tries[i]->state != FORWARD_TRY_ENDED)
			continue;
		enum verdict v = try_ended(f, f->tries[i]);
		if (v != V_WAIT)
			return v;
	}
	if (f->st == NULL || f->hedge_at == 0)
		return V_WAIT;
	if (query_now(q) >= f->hedge_at && f->first_try.state == FORWARD_TRY_RUNNING)
		return hedge(f);
	return wait_for_tries(f);
}

void forward_done(struct plugin_inst *self, struct query *q)
{
	struct forward_query *f = query_state(q, self);
	if (f != NULL)
		leave(f);
}
