/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How an exchange ends: by an error, or by a message that is first compared with the question. */
#include "resolve/exchange_priv.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "resolve/reply_check_priv.h"
#include "resolve/link_priv.h"
#include "resolve/resolver_priv.h"
#include "resolve/stream_pool_priv.h"
#include "resolve/types_priv.h"
#include "resolve/upstream_priv.h"
#include "resolve/wheel_priv.h"

void exchange_detach(struct resolver *resolver, struct resolve_exchange *exchange)
{
	assert(exchange->state != X_IDLE);
	if (exchange->state == X_READY) {
		xlist_remove(&resolver->ready, exchange);
		exchange->state = X_IDLE;
		return;
	}
	wheel_remove(resolver, exchange);
	if (exchange->state == X_WAITING)
		stream_pool_unwait(resolver_pool(resolver, exchange->up), exchange);
	assert(exchange->state != X_QUEUED || exchange->link != NULL);
	assert(exchange->state != X_WAITING || exchange->link == NULL);
	if (exchange->state == X_QUEUED)
		xlist_remove(&exchange->link->queued, exchange);
	if (exchange->state == X_SENT && exchange->link != NULL && exchange->link->keeps_sent)
		xlist_remove(&exchange->link->sent, exchange);
	if (exchange->link != NULL)
		link_remove(exchange->link, exchange);
	dns_put16(exchange->msg, exchange->asked_id);
	if (exchange->random_case)
		resolve_flip_case(exchange->msg + DNS_HEADER_BYTES, exchange->question_n - 4U,
				  exchange->case_bits);
	exchange->state = X_IDLE;
}

static void drop_sent(struct resolve_exchange *exchange)
{
	if (exchange->state == X_SENT && exchange->link != NULL &&
	    exchange->link->ops->dropped != NULL)
		exchange->link->ops->dropped(exchange->link, exchange);
}

/* Errors are logged with both ends, and rare enough for a system call. */
static void note_local(struct resolve_exchange *exchange)
{
	socklen_t len = sizeof(exchange->local);
	memset(&exchange->local, 0, sizeof(exchange->local));
	if (exchange->state != X_SENT || exchange->link == NULL || exchange->link->io.fd < 0 ||
	    getsockname(exchange->link->io.fd, &exchange->local.sa, &len) != 0)
		exchange->local.family = AF_UNSPEC;
}

void exchange_fail(struct resolver *resolver, struct resolve_exchange *exchange,
		   enum resolve_result result, int code)
{
	assert(exchange->state != X_IDLE && exchange->state != X_READY);
	note_local(exchange);
	drop_sent(exchange);
	exchange_detach(resolver, exchange);
	exchange->result = result;
	exchange->error = code;
	exchange->error_text = resolve_error_text(code);
	exchange->state = X_READY;
	xlist_append(&resolver->ready, exchange);
	resolver_arm(resolver);
}

/* What could not be read whole becomes an empty reply with TC, as CoreDNS makes of it: the client
 * asks again over TCP. */
static size_t truncate_reply(const struct resolve_exchange *exchange, uint8_t *msg)
{
	dns_put16(msg + 2, dns_get16(msg + 2) | DNS_FLAG_TC);
	memset(msg + 6, 0, 6);
	bool bare = dns_get16(msg + 4) == 0; /* of an UPDATE */
	return (size_t)DNS_HEADER_BYTES + (bare ? 0 : exchange->question_n);
}

static enum resolve_result judge_reply(struct resolver *resolver, struct resolve_exchange *exchange,
				       uint8_t *msg, size_t *count, bool cut)
{
	switch (reply_check(exchange->msg, exchange->question_n, msg, *count, exchange->random_case,
			    count)) {
	case REPLY_OK:
		if (!cut)
			return RESOLVE_OK;
		break;
	case REPLY_CUT:
		break;
	case REPLY_GARBLED:
		if (cut)
			break;
		resolver->stats.garbled++;
		return RESOLVE_GARBLED;
	case REPLY_MISMATCH:
		resolver->stats.mismatched++;
		return RESOLVE_MISMATCH;
	}
	if (exchange->proto != RESOLVE_UDP) {
		resolver->stats.garbled++;
		return RESOLVE_GARBLED;
	}
	*count = truncate_reply(exchange, msg);
	exchange->reply_tc = true;
	return RESOLVE_OK;
}

void exchange_reply(struct resolver *resolver, struct resolve_exchange *exchange, uint8_t *msg,
		    size_t len, bool cut)
{
	assert(exchange->state == X_SENT && exchange->link != NULL);
	struct resolve_pool *pool = exchange->link->pool;
	exchange->result = judge_reply(resolver, exchange, msg, &len, cut);
	if (exchange->result == RESOLVE_OK) {
		exchange->rtt_ns = loop_now(resolver->env.loop) - exchange->sent_ns;
		upstream_measured(pool, exchange->rtt_ns);
		if (exchange->random_case)
			resolve_flip_case(msg + DNS_HEADER_BYTES, exchange->question_n - 4U,
					  exchange->case_bits);
	}
	exchange_detach(resolver, exchange);
	dns_put16(msg, exchange->asked_id);
	exchange->reply = msg;
	exchange->reply_n = (uint16_t)len;
	exchange->error = exchange->result == RESOLVE_OK ? 0 : ERR_PARSE;
	exchange->error_text =
		exchange->result == RESOLVE_OK ? NULL : resolve_error_text(ERR_PARSE);
	exchange->done(exchange);
}

void resolve_cancel(struct resolver *resolver, struct resolve_exchange *exchange)
{
	if (exchange->state == X_IDLE)
		return;
	drop_sent(exchange);
	exchange_detach(resolver, exchange);
	resolver_bury(resolver);
}

int resolve_error_of(const struct resolve_exchange *exchange)
{
	switch (exchange->result) {
	case RESOLVE_OK:
		return 0;
	case RESOLVE_TIMEOUT:
		return -ETIMEDOUT;
	case RESOLVE_NETWORK:
		return exchange->error;
	case RESOLVE_GARBLED:
	case RESOLVE_MISMATCH:
		break;
	}
	return ERR_PARSE;
}

bool resolve_is_truncated(const struct resolve_exchange *exchange)
{
	return exchange->result == RESOLVE_OK && exchange->proto == RESOLVE_UDP &&
	       (exchange->reply_tc || (exchange->reply[2] & DNS_FLAG_TC >> 8) != 0);
}
