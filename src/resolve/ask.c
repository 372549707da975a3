/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One blocking query for threads without a loop (controllers, commands): runs a resolver of its
 * own until the reply or a time-out. */
#include "resolve/ask.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "resolve/check_priv.h"
#include "resolve/resolver.h"
#include "resolve/types_priv.h"
#include "resolve/upstream.h"

struct asking {
	struct resolve_exchange x;
	struct loop *loop;
	struct resolver *r;
	bool done, armed;
	uint8_t *out;
	size_t cap;
	int result;
};

static void mark_armed(void *ctx)
{
	((struct asking *)ctx)->armed = true;
}

static bool is_truncated(const struct resolve_exchange *exchange)
{
	return exchange->reply_tc || (exchange->reply[2] & DNS_FLAG_TC >> 8) != 0;
}

static int copy_reply(struct asking *asking)
{
	const struct resolve_exchange *x = &asking->x;
	switch (x->result) {
	case RESOLVE_OK:
		break;
	case RESOLVE_TIMEOUT:
		return -ETIMEDOUT;
	case RESOLVE_NETWORK:
		return x->error;
	case RESOLVE_GARBLED:
	case RESOLVE_MISMATCH:
		return ERR_PARSE;
	}
	if (x->reply_n > asking->cap)
		return ERR_SPACE;
	memcpy(asking->out, x->reply, x->reply_n);
	return x->reply_n;
}

static void on_answer(struct resolve_exchange *exchange)
{
	struct asking *a = CONTAINER_OF(exchange, struct asking, x);
	if (exchange->result == RESOLVE_OK && exchange->proto == RESOLVE_UDP &&
	    is_truncated(exchange)) {
		exchange->tcp = true;
		resolve_start(a->r, exchange);
		return;
	}
	a->result = copy_reply(a);
	a->done = true;
}

static int run_exchange(struct asking *asking)
{
	struct resolver_env env = {
		.loop = asking->loop, .ops = &net_ops_kernel, .arm = mark_armed, .ctx = asking
	};
	asking->r = resolver_new(&env);
	resolve_start(asking->r, &asking->x);
	while (!asking->done) {
		if (asking->armed) {
			asking->armed = false;
			resolver_flush(asking->r);
		} else {
			loop_turn(asking->loop, true);
		}
	}
	resolver_free(asking->r);
	return asking->result;
}

int resolve_ask(const struct resolve_conf *conf, uint8_t *msg, uint16_t number, uint64_t timeout_ns,
		uint8_t *out, size_t cap)
{
	if (check_question(msg, number) < 0)
		return ERR_PARSE;
	struct loop *loop = loop_new();
	if (loop == NULL)
		return ERR_INTERNAL;
	struct resolve_upstream *u = resolve_upstream_new(conf);
	struct asking a = { .loop = loop, .out = out, .cap = cap };
	a.x = (struct resolve_exchange){ .up = u,
					 .msg = msg,
					 .msg_n = number,
					 .deadline_ns = loop_now(loop) + timeout_ns,
					 .done = on_answer };
	int r = run_exchange(&a);
	resolve_upstream_unref(u);
	loop_free(loop);
	return r;
}
