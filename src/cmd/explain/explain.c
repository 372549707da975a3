/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead explain`: reads firewalls, DNSNames and the cluster's networks from an API server, and prints
 * what follows from them (api/explain). It looks nothing up in the DNS. */
#include "cmd/explain/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/egress/rules.h"
#include "api/explain/report.h"
#include "api/explain/write_json.h"
#include "api/explain/write_text.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/objects/list_objects.h"
#include "cmd/flags.h"
#include "cmd/kubecli.h"
#include "kube/client/object.h"

struct explain {
	struct kubecli cli;
	const char *output, *names_ns;
	bool is_json;
	struct explain_subject subject;
	/* Owned; for `objects`. */
	json_t *firewalls, *names, *nodes, *service_cidrs, *networks, *slices, *events;
};

/* ---- objects ---- */

/* A misspelt namespace has no firewall, and everything would seem allowed. */
static bool check_namespace(const struct explain *run)
{
	struct kube_status status = { 0 };
	struct kube_ref ref = { .kind = api_kind_find("", "Namespace"), .name = run->cli.ns };
	if (run->cli.ns == NULL)
		return true;
	int r = kube_get(run->cli.conn, &ref, NULL, &status);
	bool ok = r >= 0 || r == ERR_DENIED; /* who may not read it may still read what is in it */
	if (r == ERR_NOTFOUND)
		kubecli_say(&run->cli, "the namespace '%s' does not exist", run->cli.ns);
	else if (!ok)
		kubecli_say_status(&run->cli, run->cli.ns, &status);
	kube_status_done(&status);
	return ok;
}

static bool gather_objects(struct explain *run)
{
	const struct {
		const char *group, *kind, *ns;
		json_t **into;
		enum list_objects_need need;
	} lists[] = {
		{ EGRESS_GROUP, EGRESS_FIREWALL_KIND, run->cli.ns, &run->firewalls,
		  LIST_OBJECTS_NEEDED },
		{ EGRESS_GROUP, EGRESS_NAME_KIND, run->names_ns, &run->names, LIST_OBJECTS_NEEDED },
		{ "", "Node", NULL, &run->nodes, LIST_OBJECTS_OPTIONAL },
		{ "networking.k8s.io", "ServiceCIDR", NULL, &run->service_cidrs,
		  LIST_OBJECTS_OPTIONAL },
		{ "config.openshift.io", "Network", NULL, &run->networks, LIST_OBJECTS_OPTIONAL },
		{ "discovery.k8s.io", "EndpointSlice", "default", &run->slices,
		  LIST_OBJECTS_OPTIONAL },
		{ "events.k8s.io", "Event", run->cli.ns, &run->events, LIST_OBJECTS_OPTIONAL },
	};
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		if (!list_objects(&run->cli, api_kind_find(lists[i].group, lists[i].kind),
				  lists[i].ns, lists[i].need, lists[i].into))
			return false;
	}
	return true;
}

static void objects_done(struct explain *run)
{
	json_decref(run->firewalls);
	json_decref(run->names);
	json_decref(run->nodes);
	json_decref(run->service_cidrs);
	json_decref(run->networks);
	json_decref(run->slices);
	json_decref(run->events);
}

/* ---- output ---- */

static void print_report(const struct explain *run)
{
	struct explain_objects objects = { run->firewalls,     run->names,    run->nodes,
					   run->service_cidrs, run->networks, run->slices,
					   run->events };
	struct explain_report report;
	explain_report_init(&report, &run->subject, &objects, run->cli.ns);
	if (run->is_json) {
		json_t *tree = explain_write_json(&report);
		json_dumpf(tree, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(tree);
	} else {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		explain_write_text(&report, clock_wall_ns(), &text);
		fwrite(text.s, 1, text.n, stdout);
	}
	explain_report_done(&report);
}

static int explain_subject(struct explain *run)
{
	bool ok = kubecli_open(&run->cli) && check_namespace(run) && gather_objects(run);
	if (ok)
		print_report(run);
	objects_done(run);
	kubecli_close(&run->cli);
	return kubecli_flush(&run->cli, ok ? EXIT_DONE : EXIT_FAILED);
}

/* ---- the command ---- */

static void print_help(const struct flag *flags, size_t count)
{
	printf("usage: fairlead explain NAME|ADDRESS [FLAGS]\n\n"
	       "Prints which rules of EgressFirewalls decide for connections to a DNS name or an "
	       "IP\n"
	       "address, in each namespace, and which names and answers an address was learnt "
	       "from.\n"
	       "Everything is read from the API; nothing is looked up in the DNS.\n\n");
	flags_help(flags, count, stdout);
}

/* False after a message. */
static bool read_arguments(struct explain *run, const struct flag_values *args)
{
	if (args->n != 1) {
		fprintf(stderr, "fairlead explain: give one name or address, not %zu, try --help\n",
			args->n);
		return false;
	}
	const char *wrong = explain_subject_parse(slice_of(args->v[0]), &run->subject);
	if (wrong != NULL) {
		fprintf(stderr, "fairlead explain: '%s' %s\n", args->v[0], wrong);
		return false;
	}
	if (run->names_ns != NULL && !api_name_is_path_segment(run->names_ns)) {
		fprintf(stderr,
			"fairlead explain: --names-namespace: '%s' cannot be the name of a "
			"namespace\n",
			run->names_ns);
		return false;
	}
	run->is_json = strcmp(run->output, "json") == 0;
	if (run->is_json || strcmp(run->output, "text") == 0)
		return true;
	fprintf(stderr, "fairlead explain: -o: '%s' is none of text json\n", run->output);
	return false;
}

int cmd_explain(int argc, char **argv)
{
	struct explain run = { .cli.verb = "explain", .output = "text" };
	struct flag_values args = { 0 };
	const struct flag flags[] = {
		FLAG_VALUE("o", &run.output, "FORMAT", "text (default) or json"),
		FLAG_VALUE("n", &run.cli.ns, "NAMESPACE",
			   "this namespace only; default: all that have an EgressFirewall"),
		FLAG_VALUE("namespace", &run.cli.ns, "NAMESPACE", "the same as -n"),
		FLAG_VALUE("names-namespace", &run.names_ns, "NAMESPACE",
			   "where DNSName objects are; default: all namespaces"),
		FLAG_VALUE("kubeconfig", &run.cli.kubeconfig, "FILE",
			   "kubeconfig; default: $KUBECONFIG, that of --data, ~/.kube/config, the "
			   "pod"),
		FLAG_VALUE("context", &run.cli.context, "NAME", "context of the kubeconfig"),
		FLAG_VALUE("data", &run.cli.data, "DIR",
			   "data of `fairlead up`; default fairlead-data, if it exists"),
	};
	char why[256];
	int r = flags_parse_mixed(flags, ARRAY_LEN(flags), argc, argv, &args, ERR_TEXT(why));
	int status = EXIT_USAGE;
	if (r == -2) {
		print_help(flags, ARRAY_LEN(flags));
		status = EXIT_DONE;
	} else if (r < 0) {
		fprintf(stderr, "fairlead explain: %s, try --help\n", why);
	} else if (read_arguments(&run, &args)) {
		status = explain_subject(&run);
	}
	vec_done(&args);
	return status;
}
