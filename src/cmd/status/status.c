/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead status`: checks that the API and the DNS server answer, controllers and children of
 * `fairlead up`, and the conditions of the product's own objects. Exit status 1 with the reasons if
 * there are problems. */
#include "cmd/status/status.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/yaml/yaml.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "base/srcpos.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/embedded.h"
#include "cmd/kubecli.h"
#include "cmd/objects/condition_meaning.h"
#include "cmd/objects/settled.h"
#include "cmd/up/upstatus.h"
#include "dns/message.h"
#include "net/addr.h"
#include "resolve/blocking_query.h"
#include "resolve/types.h"

enum { NOTE_MAX_BYTES = 4096, NOTE_WAIT_MS = 1000 };

struct status {
	struct kubecli cli;
	unsigned bad, objects, silent;
};

static void report_problem(struct status *status, const char *what, const char *text)
{
	printf("%s: %s\n", what, text);
	status->bad++;
}

/* ---- the objects ---- */

static void check_condition(struct status *status, const char *name, const json_t *condition)
{
	const char *type = api_get_string(condition, "type");
	const char *value = api_get_string(condition, "status");
	const char *message = api_get_string(condition, "message");
	enum condition_meaning meaning = condition_meaning(type, value);
	if (meaning == CONDITION_NOTE) {
		printf("%s: note: %s: %s\n", name, type, message);
	} else if (meaning == CONDITION_PROBLEM &&
		   settled_is_short_wait(condition, clock_wall_ns())) {
		printf("%s: note: %s\n", name, message);
	} else if (meaning == CONDITION_PROBLEM) {
		CLEANUP(freep)
		char *text = xasprintf("%s is %s (%s): %s", type, value,
				       api_get_string(condition, "reason"), message);
		report_problem(status, name, text);
	}
}

/* Nothing is said of an object: nobody may have noticed it. */
static void note_silence(struct status *status, const struct api_kind *kind, const char *name,
			 const json_t *object)
{
	const char *type = api_get_string(object, "spec.type");
	if (!settled_is_reported(kind) || json_object_size(json_object_get(object, "status")) != 0)
		return;
	status->silent++;
	printf("%s: note: no controller has reported on it", name);
	if (strcmp(kind->kind, "DNSRecord") == 0)
		printf("; is there one for the type '%s'?", type);
	printf("\n");
}

static void check_object(struct status *status, const struct api_kind *kind, const json_t *object)
{
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
	const json_t *c;
	size_t i;
	kubecli_name(&name, kind, api_name(object));
	if (api_namespace(object)[0] != '\0')
		strbuf_addf(&name, " in %s", api_namespace(object));
	status->objects++;
	note_silence(status, kind, name.s, object);
	unsigned before = status->bad;
	json_array_foreach (api_get(object, "status.conditions"), i, c)
		check_condition(status, name.s, c);
	const char *state = api_get_string(object, "status.lastOperation.state");
	/* Conditions say more. */
	if (status->bad == before && (strcmp(state, "Error") == 0 || strcmp(state, "Failed") == 0))
		report_problem(status, name.s,
			       api_get_string(object, "status.lastOperation.description"));
}

static void check_kind(struct status *status, const struct api_kind *kind)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	struct kube_status st;
	json_t *list = NULL;
	const json_t *o;
	size_t i;
	api_kind_path(&path, kind, NULL, NULL, NULL);
	int e = kube_call(status->cli.conn,
			  &(struct kube_request){ .method = "GET", .path = path.s }, &list, &st);
	/* A kind that is not installed has no objects to check. */
	if (e < 0 && e != ERR_NOTFOUND)
		report_problem(status, kind->plural, st.message);
	kube_status_done(&st);
	json_array_foreach (json_object_get(list, "items"), i, o)
		check_object(status, kind, o);
	json_decref(list);
}

/* ---- the servers ---- */

static bool check_api(struct status *status)
{
	struct kube_status st;
	json_t *v = NULL;
	int e = kube_call(status->cli.conn,
			  &(struct kube_request){ .method = "GET", .path = "/version" }, &v, &st);
	if (e < 0)
		report_problem(status, "api", st.message);
	else
		printf("api: %s, version %s\n", kube_client_text(status->cli.client),
		       api_get_string(v, "gitVersion"));
	kube_status_done(&st);
	json_decref(v);
	return e >= 0;
}

/* Of "[-]store failed: its reason ..." the reason; cut in place. */
static const char *reason_of(char *page)
{
	static const char before[] = "failed: ", behind[] = " readyz check";
	char *end = strstr(page, behind), *reason = strstr(page, before);
	if (end != NULL)
		*end = '\0';
	return reason != NULL ? reason + strlen(before) : page;
}

/* A check of the embedded API's own; a cluster has no such page. */
static void check_page(struct status *status, const char *name)
{
	CLEANUP(freep) char *path = xasprintf("/readyz/%s", name);
	struct kube_status st;
	int e = kube_call(status->cli.conn, &(struct kube_request){ .method = "GET", .path = path },
			  NULL, &st);
	if (e < 0 && st.code >= 500)
		report_problem(status, name, reason_of(st.message));
	kube_status_done(&st);
}

/* EDNS version 1 is refused by the server itself, whatever its configuration: an answer that needs
 * nobody else. */
static int ask_dns(const union net_addr *addr)
{
	uint8_t msg[DNS_QUERY_MAX + DNS_OPT_BYTES + DNS_REQUEST_SLACK], reply[512];
	struct resolve_conf c = { .addr = *addr };
	struct dns_opt opt = { .udp_size = 1232, .version = 1 };
	size_t n = dns_message_query(msg, 0, DNS_FLAG_RD, dns_name_root, DNS_TYPE_NS);
	n = dns_message_add_opt(msg, n, &opt);
	return resolve_query_blocking(&c, msg, (uint16_t)n, 2 * NS_PER_S, reply, sizeof(reply));
}

static const char *data_of(const struct status *status)
{
	return status->cli.data != NULL ? status->cli.data : EMBEDDED_DATA;
}

/* The DNS server of `fairlead up`, when it left a note of where it is. */
static void check_dns(struct status *status)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	CLEANUP(freep) char *path = xasprintf("%s/up.json", data_of(status));
	struct srcerr err;
	json_t *note = NULL;
	union net_addr a;
	if (status->cli.found == NULL ||
	    readfile_path(path, NOTE_MAX_BYTES, NOTE_WAIT_MS, &text) < 0 ||
	    api_yaml_parse_one(path, strbuf_slice(&text), &note, &err) < 0)
		return;
	const char *where = api_get_string(note, "dns");
	if (net_addr_parse(slice_of(where), &a) == 0) {
		int e = ask_dns(&a);
		if (e < 0)
			report_problem(status, "dns", err_str(e));
		else
			printf("dns: %s answers\n", where);
	}
	json_decref(note);
}

/* Controllers and children of `fairlead up`, if it runs. */
static void check_up(struct status *status)
{
	json_t *lines = NULL;
	const json_t *line;
	size_t i;
	if (status->cli.found == NULL)
		return;
	int e = upstatus_ask(data_of(status), &lines);
	if (e < 0 && e != ERR_NOTFOUND)
		report_problem(status, "up", err_str(e));
	json_array_foreach (lines, i, line) {
		const char *what = api_get_string(line, "what");
		const char *text = api_get_string(line, "text");
		if (json_is_true(json_object_get(line, "well")))
			printf("%s: %s\n", what, text);
		else
			report_problem(status, what, text);
	}
	json_decref(lines);
}

static void print_summary(const struct status *status)
{
	printf("%u object%s checked, ", status->objects, status->objects == 1 ? "" : "s");
	if (status->bad == 0)
		printf("all well");
	else
		printf("%u problem%s", status->bad, status->bad == 1 ? "" : "s");
	if (status->silent != 0)
		printf("; no controller has reported on %u of them", status->silent);
	printf("\n");
}

static int print_status(struct status *status)
{
	if (!kubecli_open(&status->cli))
		return EXIT_FAILED;
	if (check_api(status)) {
		check_page(status, "store"); /* what it has stored */
		check_page(status, "disk");  /* whether it has space for writes */
		check_dns(status);
		check_up(status);
		for (size_t i = 0; i < api_n_kinds; i++) {
			if (api_kinds[i].ours)
				check_kind(status, &api_kinds[i]);
		}
		print_summary(status);
	}
	return status->bad == 0 ? EXIT_DONE : EXIT_FAILED;
}

int cmd_status(int argc, char **argv)
{
	struct status s = { .cli.verb = "status" };
	const struct flag flags[] = { KUBECLI_FLAGS(&s.cli) };
	char why[256] = "";
	struct flag_values args = { 0 };
	int status = EXIT_USAGE;
	int r = flags_parse_mixed(flags, ARRAY_LEN(flags), argc, argv, &args, ERR_TEXT(why));
	if (r == -2) {
		printf("usage: fairlead status [FLAGS]\n\n"
		       "Checks that the API and the DNS server answer, and reports problems of "
		       "the\ncontrollers, of child processes and of the product's own objects. "
		       "Exit status\n0: no problems; 1: problems, with the reasons.\n\nflags:\n");
		flags_help(flags, ARRAY_LEN(flags), stdout);
		status = EXIT_DONE;
	} else if (r < 0 || args.n != 0) {
		kubecli_say(&s.cli, "%s\nTry `fairlead status --help`.",
			    r < 0 ? why : "takes no arguments");
	} else {
		status = print_status(&s);
	}
	kubecli_close(&s.cli);
	vec_done(&args);
	return status;
}
