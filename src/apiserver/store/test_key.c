/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of objects: building and splitting. */
#include "apiserver/store/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
	const char *group, *kind, *ns, *name, *key;
} rows[] = {
	{ "", "Service", "default", "web", "core/services/default/web" },
	{ "", "Service", "default", NULL, "core/services/default/" },
	{ "", "Service", NULL, NULL, "core/services/" },
	{ "", "Namespace", NULL, "default", "core/namespaces//default" },
	{ "", "Namespace", NULL, NULL, "core/namespaces//" },
	{ "k8s.ovn.org", "DNSName", "a", "x.y", "k8s.ovn.org/dnsnames/a/x.y" },
};

static void keys(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
		apiserver_key(&key, api_kind_find(rows[i].group, rows[i].kind), rows[i].ns,
			      rows[i].name);
		assert_string_equal(key.s, rows[i].key);
	}
}

static void parts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct slice group, plural, ns;
		const char *name;
		if (rows[i].name == NULL)
			continue;
		apiserver_key_split(rows[i].key, &group, &plural, &ns, &name);
		assert_true(slice_eq(group, slice_of(rows[i].group)));
		assert_true(slice_eq(plural,
				     slice_of(api_kind_find(rows[i].group, rows[i].kind)->plural)));
		assert_true(slice_eq(ns, slice_of(rows[i].ns != NULL ? rows[i].ns : "")));
		assert_string_equal(name, rows[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(keys), cmocka_unit_test(parts) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
