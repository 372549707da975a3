/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose limits pairs count for (EF-P10). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "addrset/nftables/plan.h"
#include "addrset/nftables/quota_test.h"
#include "base/compiler.h"
#include "base/mem.h"

static struct nftables_quota quota;

static int begin(void **state UNUSED)
{
	nftables_quota_init(&quota);
	return 0;
}

static int end(void **state UNUSED)
{
	nftables_quota_done(&quota);
	return 0;
}

static struct addrset_known pair_of(const char *name)
{
	return (struct addrset_known){ .name = addrset_id_of(slice_of(name)) };
}

static enum nftables_limit check(const char *tenant, const char *name)
{
	struct addrset_id id = addrset_id_of(slice_of(name));
	return nftables_quota_check(&quota, slice_of(tenant), &id);
}

/* One namespace at its limit takes nothing from another, also where both use the name. */
static void a_namespace_is_full(void **state UNUSED)
{
	struct addrset_known *pairs = xcalloc(NFTABLES_TENANT_PAIRS_MAX, sizeof(*pairs));
	for (size_t i = 0; i < NFTABLES_TENANT_PAIRS_MAX; i++) {
		assert_int_equal(check("web", "*.example.com"), NFTABLES_LIMIT_NONE);
		pairs[i] = pair_of("*.example.com");
		nftables_quota_charge(&quota, SLICE("web"), &pairs[i]);
	}
	assert_int_equal(check("web", "*.example.com"), NFTABLES_LIMIT_NAMESPACE);
	assert_int_equal(check("web", "www.example.net"), NFTABLES_LIMIT_NAMESPACE);
	assert_int_equal(check("shop", "*.example.com"), NFTABLES_LIMIT_NONE);
	nftables_quota_release(&quota, &pairs[7]);
	nftables_quota_release(&quota, &pairs[7]);
	assert_int_equal(nftables_quota_used(&quota, SLICE("web")), NFTABLES_TENANT_PAIRS_MAX - 1);
	assert_int_equal(check("web", "*.example.com"), NFTABLES_LIMIT_NONE);
	for (size_t i = 0; i < NFTABLES_TENANT_PAIRS_MAX; i++)
		nftables_quota_release(&quota, &pairs[i]);
	assert_int_equal(quota.tenants.n, 0);
	free(pairs);
}

static void set_names(void)
{
	struct nftables_target host = { .is_name = true, .name = addrset_id_of(SLICE("www.test")) };
	struct nftables_target wildcard = { .is_name = true,
					    .is_wildcard = true,
					    .name = addrset_id_of(SLICE("*.test")) };
	struct nftables_rule rules[] = { { .text = "host", .targets = &host, .n_targets = 1 },
					 { .text = "any", .targets = &wildcard, .n_targets = 1 } };
	struct nftables_namespace ns = { "web", rules, ARRAY_LEN(rules) };
	nftables_quota_set_names(&quota,
				 &(struct nftables_policy){ .namespaces = &ns, .n_namespaces = 1 });
}

/* A host has few addresses; a wildcard stands for many hosts. */
static void a_name_is_full(void **state UNUSED)
{
	static struct addrset_known hosts[NFTABLES_NAME_PAIRS_MAX], others[ARRAY_LEN(hosts)];
	set_names();
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		assert_int_equal(check("web", "www.test"), NFTABLES_LIMIT_NONE);
		hosts[i] = pair_of("www.test");
		others[i] = pair_of("*.test");
		nftables_quota_charge(&quota, SLICE("web"), &hosts[i]);
		nftables_quota_charge(&quota, SLICE("web"), &others[i]);
	}
	assert_int_equal(check("web", "www.test"), NFTABLES_LIMIT_NAME);
	assert_int_equal(check("web", "*.test"), NFTABLES_LIMIT_NONE);
	assert_int_equal(check("web", "other.test"), NFTABLES_LIMIT_NONE);
	assert_int_equal(check("shop", "www.test"), NFTABLES_LIMIT_NONE);
	nftables_quota_release(&quota, &hosts[0]);
	assert_int_equal(check("web", "www.test"), NFTABLES_LIMIT_NONE);
}

static void who_asked_last_pays(void **state UNUSED)
{
	struct addrset_known pair = pair_of("www.test");
	assert_false(nftables_quota_is_paid_by(&pair, SLICE("web")));
	nftables_quota_charge(&quota, SLICE("web"), &pair);
	assert_true(nftables_quota_is_paid_by(&pair, SLICE("web")));
	nftables_quota_charge(&quota, SLICE("shop"), &pair);
	assert_false(nftables_quota_is_paid_by(&pair, SLICE("web")));
	assert_int_equal(nftables_quota_used(&quota, SLICE("web")), 0);
	assert_int_equal(nftables_quota_used(&quota, SLICE("shop")), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_namespace_is_full, begin, end),
		cmocka_unit_test_setup_teardown(a_name_is_full, begin, end),
		cmocka_unit_test_setup_teardown(who_asked_last_pays, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
