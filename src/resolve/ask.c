/* Asking and waiting, for threads that have no loop. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "resolve/resolve_priv.h"

struct asking {
	struct resolve_exchange x;
	struct loop *loop;
	struct resolver *r;
	bool done, armed;
	uint8_t *out;
	size_t cap;
	int result;
};

static void arm(void *ctx)
{
	((struct asking *)ctx)->armed = true;
}

static bool is_truncated(const struct resolve_exchange *x)
{
	return x->reply_tc || (x->reply[2] & DNS_FLAG_TC >> 8) != 0;
}

static int outcome(struct asking *a)
{
	const struct resolve_exchange *x = &a->x;
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
	if (x->reply_n > a->cap)
		return ERR_SPACE;
	memcpy(a->out, x->reply, x->reply_n);
	return x->reply_n;
}

static void answered(struct resolve_exchange *x)
{
	struct asking *a = CONTAINER_OF(x, struct asking, x);
	if (x->result == RESOLVE_OK && x->proto == RESOLVE_UDP && is_truncated(x)) {
		x->tcp = true;
		resolve_start(a->r, x);
		return;
	}
	a->result = outcome(a);
	a->done = true;
}

static int ask(struct asking *a)
{
	struct resolver_env env = { .loop = a->loop, .ops = &net_ops_kernel, .arm = arm, .ctx = a };
	a->r = resolver_new(&env);
	resolve_start(a->r, &a->x);
	while (!a->done) {
		if (a->armed) {
			a->armed = false;
			resolver_flush(a->r);
		} else {
			loop_turn(a->loop, true);
		}
	}
	resolver_free(a->r);
	return a->result;
}

int resolve_ask(const struct resolve_conf *c, uint8_t *msg, uint16_t n, uint64_t timeout_ns,
		uint8_t *out, size_t cap)
{
	if (check_question(msg, n) < 0)
		return ERR_PARSE;
	struct loop *loop = loop_new();
	if (loop == NULL)
		return ERR_INTERNAL;
	struct resolve_upstream *u = resolve_upstream_new(c);
	struct asking a = { .loop = loop, .out = out, .cap = cap };
	a.x = (struct resolve_exchange){ .up = u,
					 .msg = msg,
					 .msg_n = n,
					 .deadline_ns = loop_now(loop) + timeout_ns,
					 .done = answered };
	int r = ask(&a);
	resolve_upstream_unref(u);
	loop_free(loop);
	return r;
}
