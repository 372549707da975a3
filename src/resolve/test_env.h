/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the tests of resolve/ share: a loop, a resolver, a fake clock, and exchanges that remember
 * how they ended. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/clock_test.h"
#include "base/mem.h"
#include "dns/dump_test.h"
#include "dns/test_names.h"
#include "resolve/link_priv.h"
#include "resolve/resolver.h"
#include "resolve/resolver_priv.h"
#include "resolve/types_priv.h"
#include "resolve/upstream.h"
#include "testing/fake_upstream.h"

struct env {
	struct loop *loop;
	struct resolver *r;
	bool armed;
	struct fakeup *fake;
	struct resolve_upstream *up;
};

struct ask {
	struct resolve_exchange x;
	struct env *e;
	unsigned done;
	uint8_t msg[512];
	struct strbuf reply; /* as dumped */
	struct ask *cancel;  /* by done */
	bool again;	     /* started anew by done, once */
};

static uint64_t env_now = 5000 * NS_PER_S;

static uint64_t env_clock(void)
{
	return env_now;
}

static const struct clock_source env_clocks = { env_clock, env_clock };

static void env_arm(void *ctx)
{
	((struct env *)ctx)->armed = true;
}

static UNUSED struct resolver *env_resolver(struct env *e)
{
	return resolver_new(&(struct resolver_env){
		.loop = e->loop, .ops = &net_ops_kernel, .arm = env_arm, .ctx = e });
}

static UNUSED struct env *env_new(const struct resolve_conf *c)
{
	struct env *e = xcalloc(1, sizeof(*e));
	struct resolve_conf conf = c != NULL ? *c : (struct resolve_conf){ 0 };
	clock_set_source(&env_clocks);
	e->loop = loop_new();
	assert_non_null(e->loop);
	e->fake = fakeup_new();
	conf.addr = *fakeup_addr(e->fake);
	e->up = resolve_upstream_new(&conf);
	e->r = env_resolver(e);
	return e;
}

static UNUSED void env_free(struct env *e)
{
	resolver_free(e->r);
	resolve_upstream_unref(e->up);
	fakeup_free(e->fake);
	loop_free(e->loop);
	clock_set_source(NULL);
	free(e);
}

/* Sends what waits and handles what came. */
static UNUSED void env_turn(struct env *e)
{
	for (int i = 0; i < 4; i++) {
		if (e->armed) {
			e->armed = false;
			resolver_flush(e->r);
		}
		loop_turn(e->loop, false);
	}
}

static UNUSED void env_advance(struct env *e, uint64_t ns)
{
	env_now += ns;
	env_turn(e);
}

static UNUSED void ask_done(struct resolve_exchange *x)
{
	struct ask *a = CONTAINER_OF(x, struct ask, x);
	a->done++;
	strbuf_reset(&a->reply);
	if (x->result == RESOLVE_OK && dns_dump(x->reply, x->reply_n, &a->reply) < 0)
		strbuf_adds(&a->reply, "MALFORMED\n");
	if (a->cancel != NULL)
		resolve_cancel(a->e->r, &a->cancel->x);
	if (a->again) {
		a->again = false;
		resolve_start(a->e->r, x);
	}
}

/* A question that is not asked yet. */
static UNUSED struct ask *ask_new(struct env *e, const char *name)
{
	struct ask *a = xcalloc(1, sizeof(*a));
	strbuf_init(&a->reply);
	dns_put16(a->msg, 0x1234);
	dns_put16(a->msg + 2, DNS_FLAG_RD);
	dns_put16(a->msg + 4, 1);
	int n = dns_name_from_text(slice_of(name), a->msg + DNS_HEADER_BYTES);
	assert_true(n > 0);
	a->msg[DNS_HEADER_BYTES + n + 1] = 1;
	a->msg[DNS_HEADER_BYTES + n + 3] = 1;
	a->e = e;
	a->x = (struct resolve_exchange){ .up = e->up,
					  .msg = a->msg,
					  .msg_n = (uint16_t)(DNS_HEADER_BYTES + n + 4),
					  .deadline_ns = env_now + 2 * NS_PER_S,
					  .done = ask_done };
	return a;
}

static UNUSED struct ask *ask_start(struct env *e, const char *name)
{
	struct ask *a = ask_new(e, name);
	resolve_start(e->r, &a->x);
	return a;
}

static UNUSED struct ask *ask_tcp(struct env *e, const char *name)
{
	struct ask *a = ask_new(e, name);
	a->x.tcp = true;
	resolve_start(e->r, &a->x);
	return a;
}

static UNUSED void ask_free(struct ask *a)
{
	resolve_cancel(a->e->r, &a->x);
	strbuf_done(&a->reply);
	free(a);
}

/* Closes the sockets and connections to the upstream that carry nothing; others close when their
 * last exchange ends. */
static UNUSED void drain_links(struct env *e)
{
	struct resolve_pool *pool = resolver_pool(e->r, e->up);
	for (struct resolve_link *l = pool != NULL ? pool->links : NULL, *next; l != NULL;
	     l = next) {
		next = l->next;
		link_drain(l);
	}
	resolver_bury(e->r);
}
