/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead plan`: compares DNSRecords of files or of an API with what their providers have, and prints
 * the difference. It changes nothing. */
#include "cmd/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/meta.h"
#include "api/tree.h"
#include "api/tree_copy.h"
#include "base/arena.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/controllerconf.h"
#include "cmd/objects/list_objects.h"
#include "cmd/flags.h"
#include "cmd/kubecli.h"
#include "cmd/manifest.h"
#include "cmd/plan/claims.h"
#include "cmd/plan/file_secrets.h"
#include "cmd/plan/reads.h"
#include "controller/dnsrecord/plan/decide.h"
#include "controller/dnsrecord/plan/diff.h"
#include "controller/dnsrecord/state.h"

enum { EXIT_CHANGES = 2 };

struct plan {
	struct kubecli cli;
	struct flag_values files;
	const char *output;
	const char *types, *classes, *ownership;
	bool is_json, has_color;
	bool is_offline; /* the status says what providers have; they are not asked */
	json_t *known;	 /* DNSRecords of the API; NULL: it is not asked */
	json_t *secrets; /* of files */
	json_t *trees;	 /* objects that are compared */
	VEC(struct plan_object *) objects;
	struct arena arena;
	struct plan_reads reads;
	json_t *report; /* one entry for each object with changes, a problem or a note */
	bool has_problem, has_changes;
};

/* ---- comparing ---- */

static void explain_unserved(struct plan_object *object)
{
	struct strbuf why = STRBUF_INIT;
	dnsrecord_explain_unserved(object->record.spec.type, &why);
	object->problem = why.s;
}

/* Takes over the reference. */
static struct plan_object *add_object(struct plan *plan, json_t *tree)
{
	struct plan_object *object = xcalloc(1, sizeof(*object));
	struct dnsrecord_settings settings = { .types = plan->types };
	json_array_append_new(plan->trees, tree);
	dnsrecord_read(tree, &plan->arena, &object->record);
	object->withdraws = api_is_deleting(tree);
	object->provider = dnsrecord_find_provider(&settings, object->record.spec.type);
	object->is_unserved = dnsrecord_is_unserved(&settings, tree) && !object->withdraws;
	if (object->is_unserved)
		explain_unserved(object);
	vec_push(&plan->objects, object);
	return object;
}

/* Objects of other classes are not for us, nor are those of types that another controller serves. */
static bool is_compared(const struct plan *plan, const struct plan_object *object)
{
	return !object->is_other && (object->provider != NULL || object->is_unserved) &&
	       dnsrecord_has_class(&object->record, plan->classes);
}

static bool is_read(const struct plan *plan, const struct plan_object *object)
{
	bool is_valid = object->record.problem == NULL || object->withdraws;
	return !plan->is_offline && is_valid && is_compared(plan, object) && !object->is_unserved &&
	       !object->provider->caps.keeps_nothing;
}

/* What the provider said to one step: a change, a note or a problem. */
static void add_result(json_t *entry, const struct plan_object *object, size_t index)
{
	const struct publisher_request *request = &object->readings[index].request;
	if (!dnsrecord_diff_reading(entry, &object->steps[index], request))
		json_object_set_new(entry, "problem", json_string(request->error));
}

static void compare_object(struct plan *plan, const struct plan_object *object)
{
	const json_t *tree = object->record.object;
	json_t *entry = json_pack("{s:s, s:s, s:[]}", "namespace", api_namespace(tree), "name",
				  api_name(tree), "changes");
	if (object->withdraws)
		json_object_set_new(entry, "deleting", json_true());
	if (object->record.problem != NULL && !object->withdraws)
		json_object_set_new(entry, "problem", json_string(object->record.problem));
	else if (object->problem != NULL)
		json_object_set_new(entry, "problem", json_string(object->problem));
	else if (!is_read(plan, object))
		json_object_set_new(entry, "changes",
				    dnsrecord_diff(&object->record, object->withdraws));
	for (size_t i = 0; i < object->n_steps && object->problem == NULL; i++)
		add_result(entry, object, i);
	bool has_problem = json_object_get(entry, "problem") != NULL;
	bool has_changes = json_array_size(json_object_get(entry, "changes")) != 0;
	if (!has_changes)
		json_object_del(entry, "changes");
	if (has_problem || has_changes || json_object_get(entry, "note") != NULL)
		json_array_append(plan->report, entry);
	plan->has_problem = plan->has_problem || has_problem;
	plan->has_changes = plan->has_changes || has_changes;
	json_decref(entry);
}

static void report_skipped(struct plan *plan)
{
	size_t n_types = 0, n_classes = 0;
	for (size_t i = 0; i < plan->objects.n; i++) {
		const struct plan_object *object = plan->objects.v[i];
		if (object->is_other || is_compared(plan, object))
			continue;
		if (object->provider == NULL && !object->is_unserved)
			n_types++;
		else
			n_classes++;
	}
	if (n_types != 0)
		kubecli_say(&plan->cli, "%zu %s a type that no provider here serves", n_types,
			    n_types == 1 ? "DNSRecord has" : "DNSRecords have");
	if (n_classes != 0)
		kubecli_say(&plan->cli, "%zu %s a class that is not served (--dnsrecord-classes)",
			    n_classes, n_classes == 1 ? "DNSRecord has" : "DNSRecords have");
}

static void compare_all(struct plan *plan)
{
	for (size_t i = 0; i < plan->objects.n; i++) {
		if (is_read(plan, plan->objects.v[i]))
			plan_reads_add(&plan->reads, plan->objects.v[i]);
	}
	plan_claims_check(plan->objects.v, plan->objects.n);
	if (!plan->is_offline)
		plan_reads_run(&plan->reads);
	for (size_t i = 0; i < plan->objects.n; i++) {
		if (is_compared(plan, plan->objects.v[i]))
			compare_object(plan, plan->objects.v[i]);
	}
	report_skipped(plan);
}

/* The API's object of that name; NULL: there is none. */
static const json_t *find_known(const struct plan *plan, const json_t *object, const char *ns)
{
	json_t *known;
	size_t i;
	json_array_foreach (plan->known, i, known) {
		if (strcmp(api_name(known), api_name(object)) == 0 &&
		    strcmp(api_namespace(known), ns) == 0)
			return known;
	}
	return NULL;
}

static const char *choose_namespace(const struct plan *plan, const json_t *object)
{
	const char *named = api_namespace(object);
	return named[0] != '\0' ? named : plan->cli.ns != NULL ? plan->cli.ns : "default";
}

/* The file's spec, the API's status. */
static void add_file_object(struct plan *plan, const json_t *object, const char *ns)
{
	const json_t *known = find_known(plan, object, ns);
	json_t *merged = api_tree_copy(object);
	json_object_del(merged, "status");
	if (known != NULL && json_is_object(json_object_get(known, "status")))
		json_object_set_new(merged, "status",
				    api_tree_copy(json_object_get(known, "status")));
	if (known != NULL) { /* the uid is part of the owner mark */
		json_t *metadata = json_object_get(merged, "metadata");
		json_object_set_new(metadata, "uid", json_string(api_uid(known)));
		json_object_set_new(
			metadata, "creationTimestamp",
			json_string(api_get_string(known, "metadata.creationTimestamp")));
	}
	json_object_set_new(json_object_get(merged, "metadata"), "namespace", json_string(ns));
	add_object(plan, merged);
}

static bool is_record(const json_t *object)
{
	return strcmp(api_kind(object), "DNSRecord") == 0 &&
	       strncmp(api_version(object), "extensions.gardener.cloud/", 26) == 0;
}

static bool is_secret(const json_t *object)
{
	return strcmp(api_kind(object), "Secret") == 0 && strcmp(api_version(object), "v1") == 0;
}

static bool has_object(const struct plan *plan, size_t count, const json_t *tree)
{
	for (size_t i = 0; i < count; i++) {
		const json_t *object = plan->objects.v[i]->record.object;
		if (strcmp(api_name(object), api_name(tree)) == 0 &&
		    strcmp(api_namespace(object), api_namespace(tree)) == 0)
			return true;
	}
	return false;
}

/* Objects of the API that are not in the files may have their names. */
static void add_others(struct plan *plan)
{
	size_t count = plan->objects.n, i;
	json_t *tree;
	json_array_foreach (plan->known, i, tree) {
		if (!has_object(plan, count, tree))
			add_object(plan, json_incref(tree))->is_other = true;
	}
}

/* False after a message. */
static bool add_files(struct plan *plan)
{
	struct manifests manifests = { 0 };
	char why[512];
	bool ok = manifests_read(&plan->files, &manifests, ERR_TEXT(why));
	if (!ok)
		kubecli_say(&plan->cli, "%s", why);
	for (size_t i = 0; ok && i < manifests.objects.n; i++) {
		const json_t *object = manifests.objects.v[i].o;
		const char *ns = choose_namespace(plan, object);
		if (is_record(object))
			add_file_object(plan, object, ns);
		else if (is_secret(object))
			plan_file_secrets_add(plan->secrets, object, ns);
	}
	manifests_done(&manifests);
	if (ok)
		add_others(plan);
	return ok;
}

static void add_known(struct plan *plan)
{
	json_t *object;
	size_t i;
	json_array_foreach (plan->known, i, object)
		add_object(plan, json_incref(object));
}

/* ---- output ---- */

/* The report has values with other bytes escaped already. */
static void print_text(const char *text)
{
	putchar('"');
	for (; *text != '\0'; text++) {
		if (*text == '"')
			fputs("\\034", stdout);
		else
			putchar(*text);
	}
	putchar('"');
}

static void print_lines(const struct plan *plan, char sign, const json_t *change,
			const json_t *content)
{
	const char *color = !plan->has_color ? "" : sign == '+' ? "\033[32m" : "\033[31m";
	json_t *value;
	size_t i;
	json_array_foreach (json_object_get(content, "values"), i, value) {
		const char *type = api_get_string(change, "recordType");
		printf("%s%c %s %lld %s ", color, sign, api_get_string(change, "name"),
		       (long long)json_integer_value(json_object_get(content, "ttl")), type);
		if (strcmp(type, "TXT") == 0)
			print_text(api_text(value));
		else
			fputs(api_text(value), stdout);
		printf("%s\n", plan->has_color ? "\033[0m" : "");
	}
}

static void print_entry(const struct plan *plan, const json_t *entry)
{
	const char *problem = api_get_string(entry, "problem");
	const char *note = api_get_string(entry, "note");
	json_t *change;
	size_t i;
	if (problem[0] != '\0')
		printf("%s/%s: cannot be %s: %s\n", api_get_string(entry, "namespace"),
		       api_get_string(entry, "name"),
		       json_object_get(entry, "deleting") != NULL ? "withdrawn" : "published",
		       problem);
	if (note[0] != '\0')
		printf("%s/%s: stays: %s\n", api_get_string(entry, "namespace"),
		       api_get_string(entry, "name"), note);
	json_array_foreach (json_object_get(entry, "changes"), i, change) {
		const char *zone = api_get_string(change, "zone");
		printf("%s/%s: %s in zone %s\n", api_get_string(entry, "namespace"),
		       api_get_string(entry, "name"), api_get_string(change, "action"),
		       zone[0] != '\0' ? zone : "(to be found)");
		print_lines(plan, '-', change, json_object_get(change, "before"));
		print_lines(plan, '+', change, json_object_get(change, "after"));
	}
}

static void print_report(const struct plan *plan)
{
	json_t *entry;
	size_t i;
	if (plan->is_json) {
		json_dumpf(plan->report, stdout, JSON_INDENT(2));
		putchar('\n');
		return;
	}
	json_array_foreach (plan->report, i, entry)
		print_entry(plan, entry);
}

/* ---- the command ---- */

/* False after a message. */
static bool gather_objects(struct plan *plan, bool asks_api)
{
	const struct api_kind *kind = api_kind_find("extensions.gardener.cloud", "DNSRecord");
	if (asks_api &&
	    (!kubecli_open(&plan->cli) ||
	     !list_objects(&plan->cli, kind, plan->cli.ns, LIST_OBJECTS_NEEDED, &plan->known)))
		return false;
	if (!plan->is_offline && !plan_reads_open(&plan->reads, plan->cli.conn)) {
		kubecli_say(&plan->cli, "no file descriptors are left");
		return false;
	}
	plan->reads.secrets = plan->secrets;
	plan->reads.is_drop_in = plan->ownership != NULL && strcmp(plan->ownership, "drop-in") == 0;
	if (plan->files.n != 0)
		return add_files(plan);
	add_known(plan);
	return true;
}

static void release_plan(struct plan *plan)
{
	for (size_t i = 0; i < plan->objects.n; i++) {
		plan_object_release(plan->objects.v[i]);
		free(plan->objects.v[i]);
	}
	vec_done(&plan->objects);
	if (plan->reads.loop != NULL)
		plan_reads_close(&plan->reads);
	plan_file_secrets_free(plan->secrets);
	json_decref(plan->trees);
	json_decref(plan->report);
	json_decref(plan->known);
	arena_done(&plan->arena);
}

static int run_plan(struct plan *plan)
{
	bool asks_api =
		plan->files.n == 0 || plan->cli.context != NULL || kubecli_has_file(&plan->cli);
	int status = EXIT_FAILED;
	plan->is_offline = plan->is_offline || !asks_api; /* Secrets are in the API */
	plan->report = json_array();
	plan->trees = json_array();
	plan->secrets = json_array();
	arena_init(&plan->arena);
	if (gather_objects(plan, asks_api)) {
		compare_all(plan);
		print_report(plan);
		status = plan->has_problem   ? EXIT_FAILED
			 : plan->has_changes ? EXIT_CHANGES
					     : EXIT_DONE;
	}
	release_plan(plan);
	if (asks_api)
		kubecli_close(&plan->cli);
	return kubecli_flush(&plan->cli, status);
}

static void print_help(const struct flag *flags, size_t count)
{
	printf("usage: fairlead plan [-f FILE|DIR|-]... [FLAGS]\n\n"
	       "Prints what would change at DNS providers because of DNSRecords: those of the "
	       "files,\nor those of the API. What the providers have is read there, with the "
	       "objects' Secrets;\nwith --offline, and for files without an API, it is taken from "
	       "the status of the API's\nobjects. Secrets of the files come before those of the "
	       "API. Changes nothing.\n\n");
	flags_help(flags, count, stdout);
	printf("\nexit status: 0 nothing would change, 2 something would, 1 an error\n");
}

/* False after a message. */
static bool check_arguments(struct plan *plan, const struct flag_values *args)
{
	const char *no_color = getenv("NO_COLOR");
	char why[256];
	plan->is_json = strcmp(plan->output, "json") == 0;
	plan->has_color = isatty(STDOUT_FILENO) && (no_color == NULL || no_color[0] == '\0');
	if (args->n != 0) {
		kubecli_say(&plan->cli, "unexpected argument '%s', try --help", args->v[0]);
		return false;
	}
	if (plan->ownership != NULL && strcmp(plan->ownership, "protect") != 0 &&
	    strcmp(plan->ownership, "drop-in") != 0) {
		kubecli_say(&plan->cli, "--dnsrecord-ownership: '%s' is none of protect drop-in",
			    plan->ownership);
		return false;
	}
	if (controllerconf_check_types(plan->types, ERR_TEXT(why)) < 0 ||
	    controllerconf_check_classes(plan->classes, ERR_TEXT(why)) < 0) {
		kubecli_say(&plan->cli, "%s", why);
		return false;
	}
	if (plan->is_json || strcmp(plan->output, "diff") == 0)
		return true;
	kubecli_say(&plan->cli, "-o: '%s' is none of diff json", plan->output);
	return false;
}

int cmd_plan(int argc, char **argv)
{
	struct plan plan = { .cli.verb = "plan", .output = "diff" };
	struct flag_values args = { 0 };
	const struct flag flags[] = {
		FLAG_VALUES("f", &plan.files, "FILE|DIR|-",
			    "manifests; may be repeated; default: the objects of the API"),
		FLAG_VALUE("o", &plan.output, "FORMAT", "diff (default) or json"),
		FLAG_SWITCH("offline", &plan.is_offline,
			    "do not read at providers: the status says what they have"),
		FLAG_VALUE("dnsrecord-types", &plan.types, "TYPE,...",
			   "as that of `fairlead controller`: types that are compared"),
		FLAG_VALUE("dnsrecord-classes", &plan.classes, "CLASS,...",
			   "as that of `fairlead controller`: classes that are compared; default "
			   "shoot"),
		FLAG_VALUE("dnsrecord-ownership", &plan.ownership, "MODE",
			   "as that of `fairlead controller`: protect (default) or drop-in"),
		KUBECLI_FLAGS_ALL(&plan.cli),
	};
	char why[256];
	int r = flags_parse_mixed(flags, ARRAY_LEN(flags), argc, argv, &args, ERR_TEXT(why));
	int status = EXIT_USAGE;
	if (r == -2) {
		print_help(flags, ARRAY_LEN(flags));
		status = EXIT_DONE;
	} else if (r < 0) {
		kubecli_say(&plan.cli, "%s, try --help", why);
	} else if (check_arguments(&plan, &args)) {
		status = run_plan(&plan);
	}
	vec_done(&args);
	vec_done(&plan.files);
	return status;
}
