/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Corefile that `fairlead up` starts with, by the objects that its API has stored. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "controller/dnsoperator/stored_corefile_test.h"

#define SERVERS(zone)                                                \
	"\"servers\": [{\"name\": \"s\", \"zones\": [\"" zone "\"]," \
	" \"forwardPlugin\": {\"upstreams\": [\"192.0.2.1\"]}}]"
#define TEMPLATES(zone)                                                \
	"\"templates\": [{\"name\": \"t\", \"zones\": [\"" zone "\"]," \
	" \"action\": {\"returnEmpty\": {}}}]"

static const struct row {
	const char *what;
	const char *metadata, *spec; /* of the object; NULL: it is missing */
	const char *accepted;	     /* NULL: nothing was */
	const char *has, *lacks;     /* the Corefile; has NULL: there is none */
} rows[] = {
	{ "no object", NULL, NULL, "{\"generation\": 1," SERVERS("old.test") "}", NULL, NULL },
	{ "an empty object", "{}", "{}", NULL, ".:1053 {", "192.0.2.1" },
	{ "accepted for the first time", "{}", "{" SERVERS("new.test") "}", NULL, "new.test:1053 {",
	  NULL },
	{ "changed since", "{}", "{" SERVERS("new.test") "}",
	  "{\"generation\": 1," SERVERS("old.test") "}", "new.test:1053 {", "old.test" },
	{ "templates", "{}", "{" TEMPLATES("new.test") "}", NULL, "template IN AAAA new.test",
	  NULL },
	{ "refused since", "{}",
	  "{" SERVERS("cluster.local") "," TEMPLATES("svc.cluster.local") "}",
	  "{\"generation\": 1," SERVERS("old.test") "," TEMPLATES("t.test") "}", "old.test:1053 {",
	  "svc.cluster.local" },
	{ "being deleted", "{\"deletionTimestamp\": \"2026-01-02T03:04:05Z\"}",
	  "{" SERVERS("new.test") "}", "{\"generation\": 1," SERVERS("new.test") "}", NULL, NULL },
	{ "not managed", "{}",
	  "{\"managementState\": \"Unmanaged\"," SERVERS("new.test") "," TEMPLATES("new.test") "}",
	  "{\"generation\": 1," SERVERS("old.test") "}", "old.test:1053 {", "new.test" },
	{ "never managed", "{}", "{\"managementState\": \"Unmanaged\"," SERVERS("new.test") "}",
	  "{}", NULL, NULL },
};

static void fill_objects(const struct row *row, struct dnsoperator_stored *ret)
{
	*ret = (struct dnsoperator_stored){ 0 };
	if (row->spec != NULL)
		ret->dns = json_pack("{so,so}", "metadata", json_loads(row->metadata, 0, NULL),
				     "spec", json_loads(row->spec, 0, NULL));
	if (row->accepted != NULL)
		ret->accepted_map = json_pack("{s{ss}}", "data", "accepted.json", row->accepted);
}

static void each_row(void **state)
{
	(void)state;
	const struct controller_machine machine = { .port = 1053,
						    .kubeconfig = "/data/kubeconfig" };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dnsoperator_stored stored;
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		fill_objects(&rows[i], &stored);
		bool any = dnsoperator_stored_render(&machine, &stored, &text);
		if (any != (rows[i].has != NULL) || (any && strstr(text.s, rows[i].has) == NULL) ||
		    (rows[i].lacks != NULL && strstr(text.s, rows[i].lacks) != NULL))
			fail_msg("%s: %s", rows[i].what, any ? text.s : "no Corefile");
		json_decref(stored.dns);
		json_decref(stored.accepted_map);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
