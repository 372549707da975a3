/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line with a name or an address, and any JSON as the objects: each subject is read or refused, and
 * each namespace has decisions that end. */
#include <string.h>

#include "api/explain/report.h"
#include "api/explain/write_json.h"
#include "api/explain/write_text.h"
#include "base/compiler.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_report(const struct explain_report *report)
{
	for (size_t i = 0; i < report->namespaces.n; i++) {
		const struct explain_namespace *ns = &report->namespaces.v[i];
		for (size_t k = 0; k < ns->decisions.n; k++) {
			const struct explain_decision *decision = &ns->decisions.v[k];
			if (decision->steps.n == 0 ||
			    decision->steps.v[decision->steps.n - 1].n_ports != 0)
				__builtin_trap();
		}
		if (ns->decisions.n == 0)
			__builtin_trap();
	}
}

static void explain_objects(const struct explain_subject *subject, const json_t *tree)
{
	struct explain_objects objects = {
		.firewalls = json_object_get(tree, "firewalls"),
		.names = json_object_get(tree, "names"),
		.nodes = json_object_get(tree, "nodes"),
		.service_cidrs = json_object_get(tree, "servicecidrs"),
		.networks = json_object_get(tree, "networks"),
		.slices = json_object_get(tree, "slices"),
		.events = json_object_get(tree, "events"),
	};
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct explain_report report;
	explain_report_init(&report, subject, &objects, NULL);
	check_report(&report);
	explain_write_text(&report, 0, &text);
	json_decref(explain_write_json(&report));
	explain_report_done(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct slice rest = { (const char *)data, len };
	struct slice line = slice_cut(&rest, '\n');
	struct explain_subject subject, again;
	if (explain_subject_parse(line, &subject) != NULL)
		return 0;
	if (subject.address.n == 0 &&
	    (explain_subject_parse(slice_of(subject.name.text), &again) != NULL ||
	     strcmp(subject.name.text, again.name.text) != 0))
		__builtin_trap();
	json_t *tree = json_loadb(rest.p, rest.n, 0, NULL);
	explain_objects(&subject, tree);
	json_decref(tree);
	return 0;
}
