/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One blocking query for threads without a loop (controllers, commands): runs a resolver of its
 * own until the reply or a time-out. */
#include "resolve/blocking_query.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "resolve/reply_check_priv.h"
#include "resolve/resolver.h"
#include "resolve/types_priv.h"
#include "resolve/upstream.h"

struct blocking_query {
	struct resolve_exchange exchange;
	struct loop *loop;
	struct resolver *resolver;
	bool done, armed;
	uint8_t *out;
	size_t cap;
	int result;
};

static void mark_armed(void *ctx)
{
	((struct blocking_query *)ctx)->armed = true;
}

static int copy_reply(struct blocking_query *query)
{
	const struct resolve_exchange *exchange = &query->exchange;
	int r = resolve_error_of(exchange);
	if (r < 0)
		return r;
	if (exchange->reply_n > query->cap)
		return ERR_SPACE;
	memcpy(query->out, exchange->reply, exchange->reply_n);
	return exchange->reply_n;
}

static void on_done(struct resolve_exchange *exchange)
{
	struct blocking_query *query = CONTAINER_OF(exchange, struct blocking_query, exchange);
	if (resolve_is_truncated(exchange)) {
		exchange->tcp = true;
		resolve_start(query->resolver, exchange);
		return;
	}
	query->result = copy_reply(query);
	query->done = true;
}

static int run_exchange(struct blocking_query *query)
{
	struct resolver_env env = {
		.loop = query->loop, .ops = &net_ops_kernel, .arm = mark_armed, .ctx = query
	};
	query->resolver = resolver_new(&env);
	resolve_start(query->resolver, &query->exchange);
	while (!query->done) {
		if (query->armed) {
			query->armed = false;
			resolver_flush(query->resolver);
		} else {
			loop_turn(query->loop, true);
		}
	}
	resolver_free(query->resolver);
	return query->result;
}

int resolve_query_blocking(const struct resolve_conf *conf, uint8_t *msg, uint16_t number,
			   uint64_t timeout_ns, uint8_t *out, size_t cap)
{
	if (reply_check_question(msg, number) < 0)
		return ERR_PARSE;
	struct loop *loop = loop_new();
	if (loop == NULL)
		return ERR_INTERNAL;
	struct resolve_upstream *upstream = resolve_upstream_new(conf);
	struct blocking_query query = { .loop = loop, .out = out, .cap = cap };
	query.exchange = (struct resolve_exchange){ .up = upstream,
						    .msg = msg,
						    .msg_n = number,
						    .deadline_ns = loop_now(loop) + timeout_ns,
						    .done = on_done };
	int r = run_exchange(&query);
	resolve_upstream_unref(upstream);
	loop_free(loop);
	return r;
}
