/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Anything in any order: exchanges over UDP and TCP that start and cancel each other from
 * inside their callbacks, an upstream that answers, lies, closes and goes silent. What must hold:
 * each exchange that was started is called back once or was cancelled, nothing is left over, and
 * (sanitizer builds) no memory is touched that is gone. */
#include "base/rng_test.h"
#include "resolve/health.h"
#include "resolve/resolver.h"
#include "resolve/test_env.h"

enum { SLOTS = 64, STEPS = 20000 };

struct chaos {
	struct env *e;
	struct rng rng; /* the same in each run */
	struct slot {
		struct resolve_exchange x;
		struct chaos *c;
		bool running;
		uint8_t msg[64];
	} slot[SLOTS];
	unsigned started, ended, cancelled, ok;
};

static unsigned pick(struct chaos *c, unsigned n)
{
	return rng_below(&c->rng, n);
}

static void on_done(struct resolve_exchange *exchange);

static void start_one(struct chaos *c)
{
	struct slot *s = &c->slot[pick(c, SLOTS)];
	static const uint8_t query[] = "\1\2\1\0\0\1\0\0\0\0\0\0\1a\7example\0\0\1\0\1";
	if (s->running)
		return;
	memcpy(s->msg, query, sizeof(query));
	s->msg[13] = (uint8_t)('a' + pick(c, 26));
	s->c = c;
	s->running = true;
	s->x = (struct resolve_exchange){ .up = c->e->up,
					  .msg = s->msg,
					  .msg_n = sizeof(query) - 1,
					  .tcp = pick(c, 2) == 0,
					  .fresh = pick(c, 8) == 0,
					  .random_case = pick(c, 2) == 0,
					  .deadline_ns = env_now + pick(c, 3000) * NS_PER_MS,
					  .done = on_done };
	c->started++;
	resolve_start(c->e->r, &s->x);
}

static void cancel_one(struct chaos *c)
{
	struct slot *s = &c->slot[pick(c, SLOTS)];
	if (!s->running)
		return;
	s->running = false;
	c->cancelled++;
	resolve_cancel(c->e->r, &s->x);
	assert_int_equal(dns_get16(s->msg), 0x102);
	memset(&s->x, 0xdd, sizeof(s->x)); /* it is not used any more */
	s->x.state = X_IDLE;
}

static void on_done(struct resolve_exchange *x)
{
	struct slot *s = CONTAINER_OF(x, struct slot, x);
	struct chaos *c = s->c;
	assert_true(s->running);
	assert_int_equal(dns_get16(s->msg), 0x102);
	if (x->result == RESOLVE_OK) {
		c->ok++;
		assert_memory_equal(x->reply + DNS_HEADER_BYTES, s->msg + DNS_HEADER_BYTES, 15);
		assert_int_equal(dns_get16(x->reply), 0x102);
	}
	s->running = false;
	c->ended++;
	memset(x, 0xdd, sizeof(*x));
	for (unsigned n = pick(c, 3); n > 0; n--)
		start_one(c);
	if (pick(c, 3) == 0)
		cancel_one(c);
	if (pick(c, 40) == 0)
		drain_links(c->e);
	if (pick(c, 40) == 0)
		resolve_health_kick(c->e->r, c->e->up);
}

static void reply_somehow(struct chaos *c)
{
	static const struct fakeup_reply lies[] = {
		{ .wrong_id = true },
		{ .question = "other.example." },
		{ .no_question = true },
		{ .clear_flags = DNS_FLAG_QR },
	};
	struct fakeup *u = c->e->fake;
	const char *text = fakeup_next(u);
	if (text == NULL)
		return;
	bool tcp = text[0] == 't';
	switch (pick(c, 10)) {
	case 0:
		fakeup_reply(u, &lies[pick(c, ARRAY_LEN(lies))]);
		break;
	case 1:
		break; /* silence */
	case 2:
		if (tcp)
			fakeup_hang_up(u, pick(c, 2) == 0);
		break;
	case 3:
		if (tcp)
			fakeup_stream(u, "\0\40half of a message", 19);
		break;
	case 4:
		fakeup_raw(u, (const uint8_t *)"\0\0\200\0\377\377\377\377\377\377\377\377", 12,
			   false);
		break;
	default:
		fakeup_answer(u, "a.example. 60 IN A 192.0.2.1");
		break;
	}
}

static void step(struct chaos *c)
{
	switch (pick(c, 8)) {
	case 0:
	case 1:
	case 2:
		start_one(c);
		break;
	case 3:
		if (pick(c, 4) == 0)
			cancel_one(c);
		break;
	case 4:
		env_advance(c->e, pick(c, 50) * NS_PER_MS);
		break;
	case 5:
		if (pick(c, 20) == 0)
			env_advance(c->e, 15 * NS_PER_S);
		break;
	default:
		env_turn(c->e);
		reply_somehow(c);
		break;
	}
}

static unsigned running(const struct chaos *c)
{
	unsigned n = 0;
	for (unsigned i = 0; i < SLOTS; i++)
		n += c->slot[i].running;
	return n;
}

static void anything(void **state)
{
	static struct chaos c;
	c = (struct chaos){ .e = env_new(&(struct resolve_conf){ .max_idle = 2,
								 .max_age_ns = 20 * NS_PER_S }) };
	(void)state;
	rng_init_seed(&c.rng, 4);
	for (unsigned i = 0; i < STEPS; i++) {
		step(&c);
		assert_int_equal(c.started, c.ended + c.cancelled + running(&c));
	}
	assert_true(c.ok > STEPS / 20);
	assert_true(c.cancelled > STEPS / 100);
	/* Half of the time the end comes with some under way. */
	resolver_free(c.e->r);
	assert_int_equal(c.e->up->refs, 1);
	assert_false(c.e->up->probing);
	c.e->r = env_resolver(c.e);
	env_free(c.e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anything),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
