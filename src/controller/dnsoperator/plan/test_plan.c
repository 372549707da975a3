/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of objects and what comes of them: cases/NAME.yaml has the place (its first document) and
 * the objects, cases/NAME.Corefile the text; a case without one must have the text that the case
 * named by `like` has. `--write` writes the texts instead of comparing them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "api/yaml/yaml.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "base/vec.h"
#include "controller/dnsoperator/plan/never_learnt.h"
#include "controller/dnsoperator/plan/plan.h"
#include "controller/dnsoperator/plan/template_conditions.h"
#include "corefile/corefile.h"
#include "corefile/key.h"

enum { FILE_MAX = 4 << 20, CAS_MAX = 4, INSTANCES_MAX = 8 };

static bool writing;

struct scene {
	const char *name;
	struct api_docs docs;
	const json_t *head, *dns;
	struct dnsoperator_facts facts;
	struct dnsoperator_ca ca[CAS_MAX];
	struct dnsoperator_answer instance[INSTANCES_MAX];
	struct dnsoperator_answers instances;
	char domain[DNSOPERATOR_DOMAIN_MAX];
	char hash[DNSOPERATOR_MARKER_HASH_MAX]; /* of the wanted text */
	struct strbuf never;			/* behind facts.egress_never */
	struct dnsoperator_plan plan;
};

/* ---- reading a case ---- */

static bool read_case_file(const char *name, const char *ending, struct strbuf *out)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/cases/%s%s", SOURCE_DIR, name, ending);
	return readfile_path(path, FILE_MAX, 0, out) == 0;
}

static void sort_docs(struct scene *s, struct dnsoperator_network *net)
{
	json_t *lists[2] = { json_array(), json_array() };
	const json_t *gate = NULL, *crd = NULL;
	struct dnsoperator_never never;
	for (size_t i = 1; i < s->docs.n; i++) {
		const json_t *o = s->docs.v[i];
		const char *kind = api_kind(o);
		if (strcmp(kind, "DNS") == 0)
			s->dns = o;
		else if (strcmp(kind, "Network") == 0)
			net->network = o;
		else if (strcmp(kind, "ServiceCIDR") == 0)
			json_array_append(lists[0], api_tree(o));
		else if (strcmp(kind, "Node") == 0)
			json_array_append(lists[1], api_tree(o));
		else if (strcmp(kind, "Service") == 0)
			net->service = o;
		else if (strcmp(kind, "FeatureGate") == 0)
			gate = o;
		else if (strcmp(kind, "CustomResourceDefinition") == 0)
			crd = o;
		else if (strcmp(kind, "ConfigMap") == 0)
			assert_int_equal(
				corefile_domain_find(slice_of(api_get_string(o, "data.Corefile")),
						     s->domain),
				0);
		else
			fail_msg("%s: unknown kind '%s'", s->name, kind);
	}
	net->service_cidrs = lists[0];
	net->nodes = lists[1];
	s->facts.families = dnsoperator_families_of(s->facts.platform, net);
	strbuf_init(&s->never);
	dnsoperator_never_of(net, &never);
	dnsoperator_never_text(&never, &s->never);
	s->facts.egress_never = s->never.s;
	s->facts.gate = dnsoperator_gate_of(
		s->facts.platform, api_get_string(s->head, "featureGates"), gate,
		api_get_string(s->head, "version"), &s->facts.gate_source);
	s->facts.keeps = dnsoperator_keeps_of(crd);
	json_decref(lists[0]);
	json_decref(lists[1]);
}

static void read_head(struct scene *s)
{
	const char *name;
	json_t *v;
	size_t i;
	int platform = dnsoperator_platform_find(api_get_string(s->head, "platform"));
	assert_true(platform >= 0);
	s->facts.platform = (enum dnsoperator_platform)platform;
	s->facts.domain = s->domain;
	s->facts.port = (uint16_t)json_integer_value(json_object_get(s->head, "port"));
	s->facts.bind = api_get_string(s->head, "bind");
	s->facts.kubeconfig = api_get_string(s->head, "kubeconfig");
	s->facts.egress_ns = api_get_string(s->head, "egressNamespace");
	s->facts.egress_keys = api_get_string(s->head, "egressKeys");
	s->facts.egress_hold = json_is_true(json_object_get(s->head, "egressHold"));
	s->facts.records = json_is_true(json_object_get(s->head, "records"));
	s->facts.search_suffix = s->facts.platform == DNSOPERATOR_MACHINE ||
				 json_is_true(json_object_get(s->head, "searchSuffix"));
	s->facts.no_resolvers = json_is_true(json_object_get(s->head, "noResolvers"));
	s->facts.ca = s->ca;
	json_object_foreach (json_object_get(s->head, "ca"), name, v)
		s->ca[s->facts.n_ca++] = (struct dnsoperator_ca){ name, json_string_value(v) };
	s->instances.v = s->instance;
	s->instances.late = json_is_true(json_object_get(s->head, "late"));
	json_array_foreach (json_object_get(s->head, "instances"), i, v) {
		s->instance[i] = (struct dnsoperator_answer){
			.name = api_get_string(v, "name"),
			.reached = !json_is_true(json_object_get(v, "silent")),
			.hash = api_get_string(v, "hash"),
			.why = json_string_value(json_object_get(v, "why")),
		};
		s->instances.n++;
	}
}

static struct scene *scene_new(const char *name)
{
	struct scene *s = xcalloc(1, sizeof(*s));
	struct dnsoperator_network net = { 0 };
	struct strbuf text = STRBUF_INIT;
	struct srcerr err;
	s->name = name;
	assert_true(read_case_file(name, ".yaml", &text));
	if (api_yaml_parse(name, strbuf_slice(&text), &s->docs, &err) < 0)
		fail_msg("%s: line %u: %s", name, err.pos.line, err.text);
	strbuf_done(&text);
	s->head = s->docs.v[0];
	read_head(s);
	sort_docs(s, &net);
	return s;
}

/* A server that runs the wanted text is written as `hash: wanted`. */
static void plan(struct scene *s)
{
	struct dnsoperator_plan_in in = { .dns = s->dns,
					  .facts = &s->facts,
					  .accepted = json_object_get(s->head, "accepted"),
					  .answers = &s->instances };
	dnsoperator_plan_make(&in, &s->plan);
	memcpy(s->hash, s->plan.hash, sizeof(s->hash));
	for (size_t i = 0; i < s->instances.n; i++) {
		if (strcmp(s->instance[i].hash, "wanted") == 0)
			s->instance[i].hash = s->hash;
	}
	dnsoperator_plan_done(&s->plan);
	dnsoperator_plan_make(&in, &s->plan);
}

static void scene_free(struct scene *s)
{
	dnsoperator_plan_done(&s->plan);
	strbuf_done(&s->never);
	api_docs_done(&s->docs);
	free(s);
}

/* ---- comparing ---- */

static const struct {
	const char *key;
	int which;
} keys[] = { { "Valid", DNSOPERATOR_VALID },
	     { "Applied", DNSOPERATOR_APPLIED },
	     { "Warning", DNSOPERATOR_WARNING } };

static const char *const status_text[] = {
	[API_TRUE] = "True",
	[API_FALSE] = "False",
	[API_UNKNOWN] = "Unknown",
};

static void check_conditions(const struct scene *s)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const struct dnsoperator_condition *c = &s->plan.conditions[keys[i].which];
		const char *want = api_get_string(json_object_get(s->head, "expect"), keys[i].key);
		char got[100];
		size_t k;
		json_t *v;
		snprintf(got, sizeof(got), "%s %s", status_text[c->status], c->reason);
		if (want[0] != '\0' && strcmp(got, want) != 0)
			fail_msg("%s: %s is '%s' (%s), want '%s'", s->name, keys[i].key, got,
				 c->message, want);
		assert_true(c->message[0] != '\0' && c->message[strlen(c->message) - 1] == '.');
		json_array_foreach (api_get(json_object_get(s->head, "say"), keys[i].key), k, v) {
			if (strstr(c->message, json_string_value(v)) == NULL)
				fail_msg("%s: %s does not say '%s': %s", s->name, keys[i].key,
					 json_string_value(v), c->message);
		}
		json_array_foreach (api_get(json_object_get(s->head, "never"), keys[i].key), k, v) {
			if (strstr(c->message, json_string_value(v)) != NULL)
				fail_msg("%s: %s says '%s': %s", s->name, keys[i].key,
					 json_string_value(v), c->message);
		}
	}
}

static void check_problems(const struct scene *s, const char *key,
			   const struct dnsoperator_problems *p)
{
	const json_t *want = json_object_get(s->head, key);
	CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
	size_t i;
	json_t *v;
	dnsoperator_problems_text(p, &all);
	if (json_array_size(want) != p->n)
		fail_msg("%s: %zu problems instead of %zu: %s", s->name, p->n,
			 json_array_size(want), all.s);
	json_array_foreach (want, i, v) {
		char got[300];
		snprintf(got, sizeof(got), "%s %s",
			 dnsoperator_problems_reason(
				 &(struct dnsoperator_problems){ .v = &p->v[i], .n = 1 }),
			 p->v[i].field);
		assert_string_equal(got, json_string_value(v));
	}
}

static void check_advice(const struct scene *s)
{
	size_t i;
	json_t *v;
	json_array_foreach (json_object_get(s->head, "advice"), i, v) {
		if (strstr(s->plan.advice.s, json_string_value(v)) == NULL)
			fail_msg("%s: '%s' is not advised: %s", s->name, json_string_value(v),
				 s->plan.advice.s);
	}
}

/* Accepted by our parser, and no zone twice. */
static void check_parses(const struct scene *s)
{
	CLEANUP(corefile_freep) struct corefile *cf = NULL;
	struct srcerr err;
	struct arena a;
	VEC(const char *) seen = { 0 };
	if (corefile_parse(s->name, strbuf_slice(&s->plan.corefile), NULL, &cf, &err) < 0)
		fail_msg("%s: %s", s->name, err.text);
	arena_init(&a);
	for (size_t i = 0; i < cf->n_block; i++) {
		for (size_t k = 0; k < cf->block[i].n_key; k++) {
			struct corefile_key key;
			assert_int_equal(corefile_key_parse(&a, &cf->block[i].key[k], &key, &err),
					 0);
			for (size_t j = 0; j < key.n_zones; j++)
				vec_push(&seen, key.zones[j]);
		}
	}
	for (size_t i = 0; i < seen.n; i++) {
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(seen.v[i], seen.v[k]);
	}
	vec_done(&seen);
	arena_done(&a);
}

static void check_text(const struct scene *s)
{
	const char *like = api_get_string(s->head, "like");
	struct strbuf want = STRBUF_INIT;
	if (writing && like[0] != '\0')
		return;
	if (writing) {
		char path[512];
		snprintf(path, sizeof(path), "%s/cases/%s.Corefile", SOURCE_DIR, s->name);
		FILE *f = fopen(path, "we");
		assert_non_null(f);
		fputs(s->plan.corefile.s, f);
		fclose(f);
	}
	assert_true(read_case_file(like[0] != '\0' ? like : s->name, ".Corefile", &want));
	if (strcmp(want.s, s->plan.corefile.s) != 0)
		fail_msg("%s: the text is\n%s", s->name, s->plan.corefile.s);
	strbuf_done(&want);
}

static void check_case(const char *name)
{
	struct scene *s = scene_new(name);
	plan(s);
	check_text(s);
	check_parses(s);
	if (!writing)
		check_conditions(s);
	check_problems(s, "problems", &s->plan.templates);
	check_problems(s, "serverProblems", &s->plan.servers);
	check_advice(s);
	scene_free(s);
}

static void each_case(void **state)
{
	(void)state;
	struct dirent **list;
	int n = scandir(SOURCE_DIR "/cases", &list, NULL, alphasort), done = 0;
	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		char *dot = strstr(list[i]->d_name, ".yaml");
		if (dot != NULL) {
			*dot = '\0';
			check_case(list[i]->d_name);
			done++;
		}
		free(list[i]);
	}
	free(list);
	assert_true(done >= 30);
}

/* The same list in any order makes the same bytes (OP-19). */
static void order_does_not_matter(void **state)
{
	(void)state;
	struct scene *s = scene_new("templates-order");
	json_t *list = api_get(s->dns, "spec.templates");
	plan(s);
	struct strbuf first = STRBUF_INIT;
	strbuf_adds(&first, s->plan.corefile.s);
	for (size_t turn = 0; turn < json_array_size(list); turn++) {
		json_t *head = json_incref(json_array_get(list, 0));
		json_array_remove(list, 0);
		json_array_append_new(list, head);
		dnsoperator_plan_done(&s->plan);
		plan(s);
		assert_string_equal(first.s, s->plan.corefile.s);
	}
	strbuf_done(&first);
	scene_free(s);
}

/* What was accepted is fallen back to from itself, too, and stays as it is. */
static void accepted_is_stable(void **state)
{
	(void)state;
	struct scene *s = scene_new("templates-order");
	struct dnsoperator_plan_in in = { .dns = s->dns,
					  .facts = &s->facts,
					  .answers = &s->instances };
	struct dnsoperator_plan again;
	plan(s);
	json_t *kept = json_deep_copy(s->plan.accepted);
	json_object_set_new(api_get(s->dns, "spec.templates[0]"), "name", json_string("Not OK"));
	json_object_set_new(api_get(s->dns, "spec"), "servers", json_pack("[{}]"));
	in.accepted = kept;
	dnsoperator_plan_make(&in, &again);
	assert_string_equal(s->plan.corefile.s, again.corefile.s);
	/* apart from what the object has stored, refused or not */
	json_object_del(kept, "stored");
	json_object_del(again.accepted, "stored");
	assert_true(json_equal(kept, again.accepted));
	assert_string_equal(again.conditions[DNSOPERATOR_VALID].reason, "InvalidName");
	dnsoperator_plan_done(&again);
	json_decref(kept);
	scene_free(s);
}

static json_t *dns_of(const char *uid, int generation, const char *spec)
{
	json_t *o = json_pack("{s{ss,ss,si},so}", "metadata", "name", "default", "uid", uid,
			      "generation", generation, "spec", json_loads(spec, 0, NULL));
	assert_non_null(o);
	return o;
}

#define LIST(name)                                                  \
	"[{\"name\":\"" name "\",\"zones\":[\"" name ".example\"]," \
	"\"action\":{\"returnEmpty\":{}}}]"

/* Successive reconciles of one object: which templates are in force, which are restored, and which the
 * backup should have. */
static void stored_list_comes_back(void **state)
{
	enum {
		KEEPS = DNSOPERATOR_KEEPS,
		PRUNES = DNSOPERATOR_PRUNES,
		DARK = DNSOPERATOR_KEEPS_UNKNOWN
	};
	static const struct {
		const char *about, *uid;
		int generation;
		const char *spec;
		int keeps;
		const char *in_force, *restored; /* a template's name; "": none */
		bool at_risk;
		const char *backup; /* the last list of the field that was accepted */
	} looks[] = {
		{ "accepted", "u", 1, "{\"templates\":" LIST("a") "}", KEEPS, "a", "", false, "a" },
		{ "the CRD is older", "u", 1, "{}", PRUNES, "", "", true, "a" },
		{ "others change it", "u", 2, "{\"logLevel\":\"Debug\"}", PRUNES, "", "", true,
		  "a" },
		{ "nobody knows", "u", 2, "{}", DARK, "", "", false, "a" },
		{ "the CRD is back", "u", 2, "{}", KEEPS, "a", "a", false, "a" },
		{ "it was put back", "u", 3, "{\"templates\":" LIST("a") "}", KEEPS, "a", "", false,
		  "a" },
		{ "somebody removes it", "u", 4, "{}", KEEPS, "", "", false, "a" },
		{ "an older CRD now", "u", 4, "{}", PRUNES, "", "", false, "a" },
		{ "brings nothing back", "u", 4, "{}", KEEPS, "", "", false, "a" },
		{ "another list", "u", 5, "{\"templates\":" LIST("b") "}", KEEPS, "b", "", false,
		  "b" },
		{ "while we were away", "u", 5, "{}", KEEPS, "b", "b", false, "b" },
		{ "a refused one", "u", 6, "{\"templates\":[{\"name\":\"X\"}]}", KEEPS, "b", "",
		  false, "b" },
		{ "is dropped, too", "u", 6, "{}", PRUNES, "", "", true, "b" },
		{ "and is put back, too", "u", 6, "{}", KEEPS, "", "X", false, "b" },
		{ "emptied on purpose", "u", 7, "{\"templates\":[]}", KEEPS, "", "", false, "b" },
		{ "a third", "u", 8, "{\"templates\":" LIST("c") "}", KEEPS, "c", "", false, "c" },
		{ "of a deleted object", "v", 8, "{}", KEEPS, "", "", false, "" },
		{ "a fourth", "v", 9, "{\"templates\":" LIST("d") "}", KEEPS, "d", "", false, "d" },
		{ "not managed", "v", 10, "{\"managementState\":\"Unmanaged\"}", PRUNES, "d", "",
		  true, "d" },
		{ "nor now", "v", 10, "{\"managementState\":\"Unmanaged\"}", KEEPS, "d", "", false,
		  "d" },
		{ "managed", "v", 11, "{}", KEEPS, "d", "d", false, "d" },
		{ "a fifth, not managed", "v", 12,
		  "{\"managementState\":\"Unmanaged\",\"templates\":" LIST("e") "}", KEEPS, "d", "",
		  false, "e" },
		{ "removed there", "v", 13, "{\"managementState\":\"Unmanaged\"}", KEEPS, "d", "",
		  false, "e" },
		{ "still", "v", 14, "{\"managementState\":\"Unmanaged\"}", KEEPS, "d", "", false,
		  "e" },
		{ "managed without", "v", 15, "{}", KEEPS, "", "", false, "e" },
	};
	struct dnsoperator_facts facts = { .gate = DNSOPERATOR_GATE_ON };
	json_t *accepted = NULL;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
		struct dnsoperator_plan p;
		json_t *o = dns_of(looks[i].uid, looks[i].generation, looks[i].spec);
		facts.keeps = (enum dnsoperator_keeps)looks[i].keeps;
		struct dnsoperator_plan_in in = { .dns = o, .facts = &facts, .accepted = accepted };
		dnsoperator_plan_make(&in, &p);
		const char *in_force = api_get_string(p.accepted, "templates[0].name");
		const char *restored = api_get_string(json_array_get(p.restore, 0), "name");
		const char *backup = api_get_string(json_array_get(p.backup, 0), "name");
		if (strcmp(in_force, looks[i].in_force) != 0 ||
		    strcmp(restored, looks[i].restored) != 0 || p.at_risk != looks[i].at_risk ||
		    strcmp(backup, looks[i].backup) != 0)
			fail_msg("%s: '%s' is in force, '%s' is put back, '%s' is backed up, %sat "
				 "risk",
				 looks[i].about, in_force, restored, backup,
				 p.at_risk ? "" : "not ");
		json_decref(accepted);
		accepted = json_incref(p.accepted);
		dnsoperator_plan_done(&p);
		json_decref(o);
	}
	json_decref(accepted);
}

/* Before servers were polled nothing is reported about them; "late" belongs to one Corefile. */
static void applied_needs_answers(void **state)
{
	(void)state;
	struct scene *s = scene_new("applied-late");
	struct dnsoperator_plan_in in = { .dns = s->dns, .facts = &s->facts };
	const struct dnsoperator_condition *applied = &s->plan.conditions[DNSOPERATOR_APPLIED];
	dnsoperator_plan_make(&in, &s->plan);
	assert_null(applied->reason);
	dnsoperator_plan_done(&s->plan);
	plan(s);
	assert_string_equal(applied->reason, "ReloadFailed");
	char hash[DNSOPERATOR_MARKER_HASH_MAX];
	memcpy(hash, s->plan.hash, sizeof(hash));
	s->instances.asked_for = hash;
	dnsoperator_plan_done(&s->plan);
	in.answers = &s->instances;
	dnsoperator_plan_make(&in, &s->plan);
	assert_string_equal(applied->reason, "ReloadFailed");
	s->instances.asked_for = "another";
	dnsoperator_plan_done(&s->plan);
	dnsoperator_plan_make(&in, &s->plan);
	assert_string_equal(applied->reason, "Updating");
	/* they ran this text before the other one: no proof that they do again */
	for (size_t i = 0; i < s->instances.n; i++)
		s->instance[i].hash = hash;
	dnsoperator_plan_done(&s->plan);
	dnsoperator_plan_make(&in, &s->plan);
	assert_string_equal(applied->reason, "Updating");
	s->instances.asked_for = hash;
	dnsoperator_plan_done(&s->plan);
	dnsoperator_plan_make(&in, &s->plan);
	assert_string_equal(applied->reason, "AsExpected");
	scene_free(s);
}

/* Conditions of another configuration do not stay while nothing is known of this one. */
static void applied_is_of_this_text(void **state)
{
	(void)state;
	struct scene *s = scene_new("applied-late");
	const struct dnsoperator_condition *applied = &s->plan.conditions[DNSOPERATOR_APPLIED];
	plan(s);
	char *text = xstrdup(s->plan.corefile.s);
	const struct {
		struct dnsoperator_reported told;
		const char *reason; /* NULL: the condition stays */
	} rows[] = {
		{ { 0 }, NULL },
		{ { 3, s->hash, text }, NULL },
		{ { 2, NULL, NULL }, "Updating" },
		{ { 3, "another", text }, "Updating" },
		{ { 3, "", text }, "Updating" },
		{ { 0, NULL, ".:5353 {\n}\n" }, "Updating" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dnsoperator_plan_in in = { .dns = s->dns,
						  .facts = &s->facts,
						  .reported = rows[i].told };
		dnsoperator_plan_done(&s->plan);
		dnsoperator_plan_make(&in, &s->plan);
		if (rows[i].reason == NULL) {
			assert_null(applied->reason);
			continue;
		}
		assert_string_equal(applied->reason, rows[i].reason);
		assert_int_equal(applied->status, API_FALSE);
		assert_string_equal(
			applied->message,
			"Generation 3: servers have not confirmed yet that they run it.");
	}
	free(text);
	scene_free(s);
}

/* A Corefile that cannot be written is reported instead of the answers of servers. */
static void applied_is_blocked(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		bool contested;
		const char *want; /* status and reason */
	} rows[] = {
		{ "applied-late", false, "False Updating" },
		{ "applied-silent", false, "False Updating" },
		{ "applied-removed", true, "False Updating" },
		{ "templates-order", false, "True AsExpected" }, /* servers run it all the same */
		{ "templates-order", true, "False Updating" },
		{ "field-pruned", true, "True NoTemplates" },
		{ "invalid-keeps-last", true, "False InvalidTemplates" },
		{ "gate-off", true, "Unknown FeatureGateDisabled" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct scene *s = scene_new(rows[i].name);
		if (strcmp(rows[i].name, "templates-order") == 0) {
			s->instance[0] = (struct dnsoperator_answer){ "a", true, "wanted", NULL };
			s->instances.n = 1;
		}
		plan(s);
		dnsoperator_plan_blocked(&s->plan, rows[i].contested, "Why.");
		const struct dnsoperator_condition *c = &s->plan.conditions[DNSOPERATOR_APPLIED];
		char got[100];
		snprintf(got, sizeof(got), "%s %s", status_text[c->status], c->reason);
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("row %zu: %s (%s)", i, got, c->message);
		assert_int_equal(strcmp(c->message, "Why.") == 0,
				 strcmp(got, "False Updating") == 0);
		scene_free(s);
	}
}

int main(int argc, char **argv)
{
	writing = argc > 1 && strcmp(argv[1], "--write") == 0;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_case),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(accepted_is_stable),
		cmocka_unit_test(stored_list_comes_back),
		cmocka_unit_test(applied_needs_answers),
		cmocka_unit_test(applied_is_of_this_text),
		cmocka_unit_test(applied_is_blocked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
