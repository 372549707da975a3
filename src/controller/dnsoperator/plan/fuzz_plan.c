/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts in all fields of a DNS object, separated by bytes 0xff; and any annotation. */
#include <stdlib.h>

#include "base/mem.h"
#include "controller/dnsoperator/plan/dns_spec.h"
#include "controller/dnsoperator/plan/test_shape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void try_annotation(const uint8_t *data, size_t n)
{
	static const struct dnsoperator_facts facts = { .platform = DNSOPERATOR_KUBERNETES,
							.gate = DNSOPERATOR_GATE_ON };
	char *text = xstrndup((const char *)data, n);
	json_t *o =
		json_pack("{s{s{ss}}}", "metadata", "annotations", DNSOPERATOR_ANNOTATION, text);
	struct dnsoperator_plan_in in = { .dns = o, .facts = &facts };
	struct dnsoperator_plan p;
	dnsoperator_plan_make(&in, &p);
	struct corefile *cf = NULL;
	struct srcerr err;
	int r = corefile_parse("x", strbuf_slice(&p.corefile), NULL, &cf, &err);
	assert(r == 0);
	corefile_free(cf);
	dnsoperator_plan_done(&p);
	json_decref(o);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	shape_try((struct slice){ (const char *)data, n });
	try_annotation(data, n);
	return 0;
}
