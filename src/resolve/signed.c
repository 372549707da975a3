/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchanges that are signed with a TSIG key. The resolver gives messages ids of its own, which a
 * signature does not cover (the record holds the original one), so signing comes before and
 * verifying after everything else. */
#include "resolve/signed.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "base/err.h"
#include "dns/request.h"
#include "dns/tsig/explain.h"
#include "resolve/resolver.h"

static uint64_t wall_seconds(void)
{
	return clock_wall_ns() / NS_PER_S;
}

/* The last record is no longer counted; the message's length is the caller's. */
static void uncount_record(uint8_t *msg)
{
	assert(dns_get16(msg + 10) > 0);
	dns_put16(msg + 10, (uint16_t)(dns_get16(msg + 10) - 1));
}

static void restore_message(struct resolve_signed *query)
{
	if (query->tsig.key == NULL)
		return;
	uncount_record(query->exchange.msg);
	query->exchange.msg_n = (uint16_t)query->unsigned_n;
	dns_tsig_done(&query->tsig);
}

static void verify_reply(struct resolve_signed *query)
{
	struct resolve_exchange *x = &query->exchange;
	query->verified_s = wall_seconds();
	query->report =
		dns_tsig_verify_answer(&query->tsig, x->reply, x->reply_n, query->verified_s);
	assert(query->report.len <= x->reply_n);
	if (query->report.len == x->reply_n)
		return; /* it has none */
	uncount_record(x->reply);
	x->reply_n = (uint16_t)query->report.len;
}

static void on_reply(struct resolve_exchange *exchange)
{
	struct resolve_signed *query = CONTAINER_OF(exchange, struct resolve_signed, exchange);
	if (query->key != NULL && exchange->result == RESOLVE_OK)
		verify_reply(query);
	restore_message(query);
	query->done(query);
}

int resolve_signed_start(struct resolver *resolver, struct resolve_signed *query)
{
	struct resolve_exchange *x = &query->exchange;
	query->report = (struct dns_tsig_report){ .result = DNS_TSIG_UNSIGNED };
	query->tsig = (struct dns_tsig){ .key = query->key };
	query->unsigned_n = x->msg_n;
	if (query->key != NULL) {
		int n = dns_tsig_sign_request(&query->tsig, x->msg, x->msg_n, query->msg_cap,
					      wall_seconds());
		if (n < 0) {
			dns_tsig_done(&query->tsig);
			return n;
		}
		x->msg_n = (uint16_t)n;
	}
	x->random_case = false; /* it would change what was signed */
	x->done = on_reply;
	resolve_start(resolver, x);
	return 0;
}

void resolve_signed_cancel(struct resolver *resolver, struct resolve_signed *query)
{
	resolve_cancel(resolver, &query->exchange);
	restore_message(query);
}

static int explain_failure(const struct resolve_exchange *exchange, struct err_text reterr)
{
	const char *server = exchange->up->text;
	switch (exchange->result) {
	case RESOLVE_TIMEOUT:
		err_text_set(reterr, "%s did not answer in time", server);
		return -ETIMEDOUT;
	case RESOLVE_NETWORK:
		err_text_set(reterr, "cannot reach %s: %s", server, exchange->error_text);
		return exchange->error;
	case RESOLVE_GARBLED:
		err_text_set(reterr, "the answer of %s is malformed", server);
		return ERR_PARSE;
	case RESOLVE_MISMATCH:
		err_text_set(reterr, "the answer of %s is to another question", server);
		return ERR_PARSE;
	case RESOLVE_OK:
		break;
	}
	return 0;
}

int resolve_signed_result(const struct resolve_signed *query, struct err_text reterr)
{
	char why[256];
	int r = explain_failure(&query->exchange, reterr);
	if (r < 0 || query->key == NULL || query->report.result == DNS_TSIG_OK)
		return r;
	dns_tsig_explain(query->key, &query->report, query->verified_s, ERR_TEXT(why));
	err_text_set(reterr, "%s: %s", query->exchange.up->text, why);
	return query->report.result == DNS_TSIG_MALFORMED ? ERR_PARSE : ERR_DENIED;
}
