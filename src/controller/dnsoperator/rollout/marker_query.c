/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries servers for the marker, on a loop of its own that lives as long as the call. */
#include "controller/dnsoperator/rollout/marker_query.h"
#include "controller/dnsoperator/rollout/marker_query_test.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dns/message.h"
#include "base/crypto/digest.h"
#include "net/loop.h"
#include "resolve/resolver.h"
#include "resolve/types.h"
#include "resolve/upstream.h"

#define TRY_NS (500 * NS_PER_MS)
enum {
	TRIES = 3,
	AT_ONCE = 256, /* a socket each */
	RECORDS_MAX = 64,
};

struct pull;

/* One server that is being queried. */
struct asking {
	struct resolve_exchange exchange;
	struct pull *pull;
	struct resolve_upstream *up;
	struct dnsoperator_marker_answer *ret;
	unsigned tried;
	uint8_t msg[DNS_QUERY_MAX];
};

struct pull {
	struct loop *loop;
	struct resolver *resolver;
	bool armed;
	struct dnsoperator_marker_query_opts opts;
	struct loop_timer progress;
	struct asking *v;
	size_t n, started, running;
};

/* ---- replies ---- */

static void set_other(struct dnsoperator_marker_answer *ret, const char *what, const char *more)
{
	*ret = (struct dnsoperator_marker_answer){ .kind = DNSOPERATOR_MARKER_MISSING };
	snprintf(ret->text, sizeof(ret->text), "%s%s", what, more);
}

/* One string of as many hexadecimal digits as a hash has. */
static bool is_hash(const uint8_t *rdata, size_t len)
{
	enum { DIGITS = DNSOPERATOR_MARKER_HASH_MAX - 1 };
	if (len != 1 + DIGITS || rdata[0] != DIGITS)
		return false;
	for (size_t i = 1; i <= DIGITS; i++) {
		if ((rdata[i] < '0' || rdata[i] > '9') && (rdata[i] < 'a' || rdata[i] > 'f'))
			return false;
	}
	return true;
}

/* Finds a hash among the answers. */
static bool find_hash(const uint8_t *msg, size_t len, struct dnsoperator_marker_answer *ret)
{
	size_t at = DNS_HEADER_BYTES;
	unsigned questions = dns_get16(msg + 4), answers = dns_get16(msg + 6);
	if (questions > 1 || answers > RECORDS_MAX)
		return false;
	for (unsigned i = 0; i < questions + answers; i++) {
		int end = dns_name_skip(msg, len, at);
		size_t fixed = i < questions ? 4 : 10;
		if (end < 0 || (size_t)end + fixed > len)
			return false;
		const uint8_t *p = msg + end;
		size_t rdlen = i < questions ? 0 : dns_get16(p + 8);
		at = (size_t)end + fixed + rdlen;
		if (at > len)
			return false;
		if (i >= questions && dns_get16(p) == DNS_TYPE_TXT && is_hash(p + 10, rdlen)) {
			memcpy(ret->hash, p + 11, rdlen - 1);
			return true;
		}
	}
	return false;
}

static const char *why_failed(uint16_t rcode)
{
	switch (rcode) {
	case DNS_RCODE_SERVFAIL:
		return "SERVFAIL does not show which configuration a server runs; see its log.";
	case DNS_RCODE_REFUSED:
		return "REFUSED does not show which configuration a server runs; a proxy in front "
		       "of it, or another configuration, refuses the query.";
	default:
		return "An error does not show which configuration a server runs; query it with "
		       "dig to see the error.";
	}
}

void dnsoperator_marker_answer_read(const uint8_t *msg, size_t len,
				    struct dnsoperator_marker_answer *ret)
{
	char buf[DNS_MNEMONIC_MAX];
	*ret = (struct dnsoperator_marker_answer){ .kind = DNSOPERATOR_MARKER_FOUND };
	if (len < DNS_HEADER_BYTES) {
		set_other(ret, "its reply is not a DNS message", "");
		return;
	}
	uint16_t rcode = dns_get16(msg + 2) & 15;
	if (rcode != DNS_RCODE_NOERROR)
		set_other(ret, "it answers ", dns_rcode_str(rcode, buf));
	else if (!find_hash(msg, len, ret))
		set_other(ret, "it answers without a hash", "");
	if (rcode != DNS_RCODE_NOERROR && rcode != DNS_RCODE_NXDOMAIN) {
		/* the server may have a marker and still be unable or unwilling to answer */
		ret->kind = DNSOPERATOR_MARKER_FAILED;
		ret->why = why_failed(rcode);
	}
}

/* ---- questions ---- */

static uint16_t make_question(const char *asked, uint8_t msg[DNS_QUERY_MAX])
{
	uint8_t name[DNS_NAME_MAX];
	if (dns_name_from_text(slice_of(asked), name) < 0)
		abort();
	return (uint16_t)dns_message_query(msg, 0, DNS_FLAG_RD, name, DNS_TYPE_TXT);
}

static void on_answer(struct resolve_exchange *exchange);

static void try_once(struct asking *asking, bool tcp)
{
	struct pull *p = asking->pull;
	asking->exchange =
		(struct resolve_exchange){ .up = asking->up,
					   .msg = asking->msg,
					   .msg_n = make_question(p->opts.name, asking->msg),
					   .tcp = tcp,
					   .deadline_ns = loop_now(p->loop) + p->opts.try_ns,
					   .done = on_answer };
	resolve_start(p->resolver, &asking->exchange);
}

static void start_next(struct pull *pull)
{
	while (pull->started < pull->n && pull->running < AT_ONCE) {
		struct asking *a = &pull->v[pull->started++];
		pull->running++;
		a->tried = 1;
		try_once(a, pull->opts.tries == 1);
	}
}

static void set_unreachable(struct asking *asking)
{
	const struct resolve_exchange *x = &asking->exchange;
	*asking->ret = (struct dnsoperator_marker_answer){ .kind = DNSOPERATOR_MARKER_UNREACHABLE };
	snprintf(asking->ret->text, sizeof(asking->ret->text), "%s",
		 x->result == RESOLVE_TIMEOUT	? "no answer in time"
		 : x->result == RESOLVE_NETWORK ? x->error_text
						: "its reply is not a DNS message");
}

static void on_answer(struct resolve_exchange *exchange)
{
	struct asking *a = CONTAINER_OF(exchange, struct asking, exchange);
	struct pull *p = a->pull;
	if (resolve_is_truncated(exchange)) {
		try_once(a, true);
		return;
	}
	if (exchange->result != RESOLVE_OK && a->tried < p->opts.tries) {
		a->tried++;
		try_once(a, a->tried == p->opts.tries);
		return;
	}
	if (exchange->result == RESOLVE_OK)
		dnsoperator_marker_answer_read(exchange->reply, exchange->reply_n, a->ret);
	else
		set_unreachable(a);
	assert(p->running != 0 && p->running <= p->started);
	p->running--;
	start_next(p);
}

static void arm_flush(void *ctx)
{
	((struct pull *)ctx)->armed = true;
}

static void report_progress(struct loop_timer *timer)
{
	struct pull *p = CONTAINER_OF(timer, struct pull, progress);
	p->opts.progress(p->opts.ctx);
	loop_timer_set(p->loop, timer, loop_now(p->loop) + DNSOPERATOR_MARKER_PROGRESS_NS);
}

static void run_loop(struct pull *pull)
{
	pull->progress.cb = report_progress;
	if (pull->opts.progress != NULL)
		loop_timer_set(pull->loop, &pull->progress,
			       loop_now(pull->loop) + DNSOPERATOR_MARKER_PROGRESS_NS);
	start_next(pull);
	while (pull->running != 0) {
		if (pull->armed) {
			pull->armed = false;
			resolver_flush(pull->resolver);
		} else {
			loop_turn(pull->loop, true);
		}
	}
	assert(pull->started == pull->n); /* each ended query starts the next */
	loop_timer_stop(pull->loop, &pull->progress);
}

void dnsoperator_marker_query(const union net_addr *addr, size_t count,
			      const struct dnsoperator_marker_query_opts *opts,
			      struct dnsoperator_marker_answer *ret)
{
	struct pull p = { .loop = loop_new(), .opts = *opts, .n = count };
	if (p.loop == NULL) {
		for (size_t i = 0; i < count; i++) {
			ret[i] = (struct dnsoperator_marker_answer){
				.kind = DNSOPERATOR_MARKER_UNREACHABLE
			};
			snprintf(ret[i].text, sizeof(ret[i].text),
				 "no file descriptors left to query it");
		}
		return;
	}
	p.opts.name = opts->name != NULL ? opts->name : DNSOPERATOR_MARKER_NAME;
	p.opts.try_ns = opts->try_ns != 0 ? opts->try_ns : TRY_NS;
	p.opts.tries = opts->tries != 0 ? opts->tries : TRIES;
	p.v = xcalloc(count + 1, sizeof(*p.v));
	p.resolver = resolver_new(&(struct resolver_env){
		.loop = p.loop, .ops = &net_ops_kernel, .arm = arm_flush, .ctx = &p });
	for (size_t i = 0; i < count; i++) {
		struct resolve_conf c = { .addr = addr[i] };
		ret[i] = (struct dnsoperator_marker_answer){ .kind = DNSOPERATOR_MARKER_PENDING };
		p.v[i] = (struct asking){ .pull = &p,
					  .up = resolve_upstream_new(&c),
					  .ret = &ret[i] };
	}
	run_loop(&p);
	resolver_free(p.resolver);
	for (size_t i = 0; i < count; i++)
		resolve_upstream_unref(p.v[i].up);
	free(p.v);
	loop_free(p.loop);
}
