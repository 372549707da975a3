/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Health checks: only after an error, one prober, until any reply comes. */
#include "dns/types.h"
#include "resolve/health.h"
#include "resolve/health_priv.h"
#include "resolve/resolver.h"
#include "resolve/test_env.h"

static void nothing_without_error(void **state)
{
	struct env *e = env_new(NULL);
	(void)state;
	for (int i = 0; i < 20; i++)
		env_advance(e, NS_PER_S);
	assert_null(fakeup_next(e->fake));
	assert_false(resolve_upstream_down(e->up, 2));
	env_free(e);
}

static void until_it_answers(void **state)
{
	struct env *e = env_new(NULL);
	(void)state;
	resolve_health_kick(e->r, e->up);
	resolve_health_kick(e->r, e->up);
	env_turn(e);
	size_t n;
	assert_string_equal(fakeup_next(e->fake), "udp . IN NS");
	assert_int_equal(fakeup_query(e->fake, &n)[2], 1); /* RD */
	assert_null(fakeup_next(e->fake));
	env_advance(e, NS_PER_S); /* its time-out; then the interval */
	assert_int_equal(e->up->fails, 1);
	env_advance(e, NS_PER_S / 2 - 1);
	assert_null(fakeup_next(e->fake));
	env_advance(e, 1);
	assert_non_null(fakeup_next(e->fake));
	env_advance(e, NS_PER_S);
	assert_int_equal(e->up->fails, 2);
	assert_false(resolve_upstream_down(e->up, 2));
	env_advance(e, NS_PER_S / 2);
	assert_non_null(fakeup_next(e->fake));
	env_advance(e, NS_PER_S);
	assert_true(resolve_upstream_down(e->up, 2));
	assert_false(resolve_upstream_down(e->up, 0));
	env_advance(e, NS_PER_S / 2);
	assert_non_null(fakeup_next(e->fake));
	fakeup_reply(e->fake, &(struct fakeup_reply){ .rcode = DNS_RCODE_SERVFAIL });
	env_turn(e);
	assert_int_equal(e->up->fails, 0);
	assert_int_equal(e->up->failed_probes, 3);
	assert_false(e->up->probing);
	env_advance(e, 5 * NS_PER_S);
	assert_null(fakeup_next(e->fake));
	env_free(e);
}

/* Even a malformed reply shows that the upstream is alive. */
static void any_reply_will_do(void **state)
{
	struct env *e = env_new(NULL);
	static const uint8_t nonsense[DNS_HEADER_BYTES] = { 0 };
	(void)state;
	e->up->fails = 7;
	resolve_health_kick(e->r, e->up);
	env_turn(e);
	assert_non_null(fakeup_next(e->fake));
	fakeup_bytes(e->fake, nonsense, sizeof(nonsense));
	env_turn(e);
	assert_int_equal(e->up->fails, 0);
	env_free(e);
}

static void as_configured(void **state)
{
	struct env *e =
		env_new(&(struct resolve_conf){ .probe_interval_ns = 3 * NS_PER_S,
						.probe_domain = (const uint8_t *)"\7example",
						.probe_no_rec = true,
						.probe_tcp = true });
	size_t n;
	(void)state;
	fakeup_stop_udp(e->fake);
	resolve_health_kick(e->r, e->up);
	env_turn(e);
	assert_string_equal(fakeup_next(e->fake), "tcp example. IN NS");
	assert_int_equal(fakeup_query(e->fake, &n)[2], 0);
	fakeup_hang_up(e->fake, false);
	env_turn(e);
	assert_int_equal(e->up->fails, 1);
	env_advance(e, 3 * NS_PER_S - 1);
	assert_null(fakeup_next(e->fake));
	env_advance(e, 1);
	assert_non_null(fakeup_next(e->fake));
	/* Another loop sees that one is at it. */
	struct resolver *other = env_resolver(e);
	resolve_health_kick(other, e->up);
	resolver_free(other);
	assert_true(e->up->probing);
	resolve_health_stop(e->r, e->up);
	assert_false(e->up->probing);
	assert_int_equal(e->up->refs, 2); /* the test's and the pool's */
	env_free(e);
}

/* The end of a resolver leaves the check to others. */
static void ends_with_its_resolver(void **state)
{
	struct env *e = env_new(NULL);
	(void)state;
	resolve_health_kick(e->r, e->up);
	env_advance(e, NS_PER_S);
	resolver_free(e->r);
	e->r = env_resolver(e);
	assert_false(e->up->probing);
	assert_int_equal(e->up->refs, 1);
	resolve_health_kick(e->r, e->up);
	assert_true(e->up->probing);
	env_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_without_error),  cmocka_unit_test(until_it_answers),
		cmocka_unit_test(any_reply_will_do),	  cmocka_unit_test(as_configured),
		cmocka_unit_test(ends_with_its_resolver),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
