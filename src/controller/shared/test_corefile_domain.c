/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cluster domain of Corefiles, and those that name none. */
#include "controller/shared/corefile_domain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static const struct {
	const char *corefile, *want; /* "": not found */
} domains[] = {
	{ ".:53 {\n kubernetes cluster.local in-addr.arpa ip6.arpa\n}\n", "cluster.local" },
	{ ".:53 {\n kubernetes in-addr.arpa ip6.arpa K8S.Example.\n}\n", "k8s.example" },
	{ "a.example:53 {\n errors\n}\n.:53 {\n kubernetes b.example {\n pods insecure\n }\n}\n",
	  "b.example" },
	{ "cluster.test:53 in-addr.arpa:53 {\n kubernetes\n}\n", "cluster.test" },
	{ "dns://cluster.test:53 {\n kubernetes\n}\n", "cluster.test" },
	{ "(k) {\n kubernetes c.example\n}\n. {\n import k\n}\n", "c.example" },
	{ ". {\n kubernetes\n}\n", "" },
	{ ". {\n kubernetes 10.0.0.0/8\n}\n", "" },
	{ ". {\n forward . 192.0.2.1\n}\n", "" },
	{ ". {\n kubernetes \"a b\"\n}\n", "" },
	{ ". {\n kubernetes a_b.example\n}\n", "" },
	{ ". {\n kubernetes \"x\n}\n", "" },
	/* by the servers' environment, which is not known here */
	{ ". {\n kubernetes {$CLUSTER_DOMAIN} in-addr.arpa ip6.arpa\n}\n", "" },
	{ ". {\n kubernetes {%CLUSTER_DOMAIN%} in-addr.arpa\n}\n", "" },
	{ ". {\n kubernetes {$CLUSTER_DOMAIN} other.example in-addr.arpa\n}\n", "" },
	{ ". {\n kubernetes k8s{$ENVIRONMENT}.example\n}\n", "" },
	{ ". {\n kubernetes k8s.{$ZONE}\n}\n", "" },
	{ "{$CLUSTER_DOMAIN}:53 {\n kubernetes\n}\n", "" },
	{ ". {\n kubernetes {$A}\n}\nb.example {\n kubernetes b.example\n}\n", "" },
	{ ". {\n forward . {$UPSTREAM}\n kubernetes c.example\n}\n", "c.example" },
	/* names of one of them would be lost */
	{ ". {\n kubernetes a.example b.example in-addr.arpa\n}\n", "" },
	{ ". {\n kubernetes a.example {$SECOND}\n}\n", "" },
	{ "a.example {\n kubernetes\n}\nb.example {\n kubernetes b.example\n}\n", "" },
	{ ". {\n kubernetes a.example A.example. in-addr.arpa\n}\nx {\n kubernetes a.example\n}\n",
	  "a.example" },
	/* in a missing file, or by a pattern that does not match it */
	{ ". {\n import /etc/coredns/kubernetes.conf\n}\n", "" },
	{ ". {\n import custom/*.override\n}\n", "" },
	{ ". {\n kubernetes c.example\n import custom/*.override\n}\n", "c.example" },
	{ "(k) {\n kubernetes {$D}\n}\n. {\n import k\n}\n", "" },
	/* reverse zones may have a block of their own */
	{ "in-addr.arpa {\n kubernetes\n}\nc.example {\n kubernetes\n}\n", "c.example" },
	{ "", "" },
};

static void domain(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(domains); i++) {
		char got[COREFILE_DOMAIN_MAX] = "";
		int r = corefile_domain_find(slice_of(domains[i].corefile), got);
		assert_int_equal(r, domains[i].want[0] != '\0' ? 0 : ERR_NOTFOUND);
		if (r == 0)
			assert_string_equal(got, domains[i].want);
	}
}

/* The longest domain there is. */
static void long_domain(void **state)
{
	(void)state;
	char text[400] = ". {\n kubernetes ", got[COREFILE_DOMAIN_MAX];
	size_t n = strlen(text);
	for (int i = 0; i < 253; i++)
		text[n++] = i % 64 == 63 ? '.' : 'a';
	memcpy(text + n, "\n}\n", 4);
	assert_int_equal(corefile_domain_find(slice_of(text), got), 0);
	assert_int_equal(strlen(got), 253);
}

static const struct {
	const char *corefile;
	bool want;
} searched[] = {
	{ ".:53 {\n searchpath c.example\n kubernetes c.example\n}\n", true },
	{ ".:53 {\n searchpath x C.Example. {\n ttl 5\n }\n}\n", true },
	{ "c.example in-addr.arpa {\n searchpath\n}\n", true },
	{ "(s) {\n searchpath c.example\n}\n. {\n import s\n}\n", true },
	{ ". {\n searchpath c.example {\n label search\n }\n}\n", true },
	/* of the servers' environment */
	{ ". {\n searchpath {$ZONE}\n}\n", true },
	{ "{$ZONE}:53 {\n searchpath\n}\n", true },
	/* another port has it */
	{ ".:5353 {\n searchpath c.example\n}\n.:53 {\n whoami\n}\n", true },
	{ ".:53 {\n whoami\n}\n.:5353 {\n searchpath c.example\n}\n", true },
	{ "", false },
	{ ". {\n kubernetes c.example\n}\n", false },
	{ ". {\n # searchpath c.example\n kubernetes c.example\n}\n", false },
	{ ". {\n forward . searchpath\n}\n", false },
	{ ". {\n searchpath example\n}\n", false },
	{ ". {\n searchpath sub.c.example\n}\n", false },
	{ ". {\n searchpath bc.example\n}\n", false },
	/* its suffixes are ID.search. */
	{ ". {\n searchpath\n}\n", false },
	{ ". {\n searchpath c.example {\n label s\n }\n}\n", false },
	/* another block gets the queries */
	{ "other.example {\n searchpath c.example\n}\n", false },
	{ ". {\n searchpath c.example\n}\nc.example {\n kubernetes\n}\n", false },
	{ "c.example {\n kubernetes\n}\n. {\n searchpath c.example\n}\n", false },
	{ ". {\n searchpath \"c.example\n}\n", false },
};

static void search_suffix(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(searched); i++) {
		if (corefile_domain_is_searched(slice_of(searched[i].corefile), "c.example") !=
		    searched[i].want)
			fail_msg("row %zu: %s", i, searched[i].corefile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(domain),
		cmocka_unit_test(long_domain),
		cmocka_unit_test(search_suffix),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
