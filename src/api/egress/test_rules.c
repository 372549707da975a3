/* SPDX-License-Identifier: GPL-3.0-or-later */
/* EF-1, EF-S2, EF-S3, EF-S10: rules from trees, errors with their paths, warnings, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/egress/rules.h"
#include "api/tree.h"
#include "base/compiler.h"
#include "base/strbuf.h"

struct read {
	struct arena arena;
	struct egress_rules rules;
	struct api_errors errors;
	json_t *tree;
};

/* A firewall from the text of its rules, or of the whole object if it has a name. */
static void read_text(struct read *read, const char *text)
{
	json_error_t error;
	json_t *value = json_loads(text, JSON_DECODE_ANY, &error);
	if (value == NULL)
		fail_msg("%s: %s", text, error.text);
	*read = (struct read){ 0 };
	read->tree = json_is_array(value) ? json_pack("{s{ss},s{so}}", "metadata", "name",
						      "default", "spec", "egress", value)
					  : value;
	arena_init(&read->arena);
	egress_rules_read(read->tree, &read->arena, &read->rules, &read->errors);
}

static void read_done(struct read *read)
{
	json_decref(read->tree);
	api_errors_done(&read->errors);
	arena_done(&read->arena);
}

/* Single quotes, as C has no better way to write JSON. */
static char *quoted(const char *text)
{
	static char out[4096];
	assert_true(strlen(text) < sizeof(out));
	for (size_t i = 0; i <= strlen(text); i++)
		out[i] = text[i] == '\'' ? '"' : text[i];
	return out;
}

static void targets_are_read(void **state)
{
	struct read read;
	(void)state;
	read_text(&read,
		  quoted("[{'type':'Allow','to':{'dnsName':'WWW.example.com.'},'ports':["
			 "{'protocol':'TCP','port':443},{'protocol':'SCTP','port':65535}]},"
			 "{'type':'Allow','to':{'nodeSelector':{'matchLabels':{'a/b':'c'},"
			 "'matchExpressions':[{'key':'d','operator':'NotIn','values':['e','']},"
			 "{'key':'f','operator':'Exists'}]}}},"
			 "{'type':'Allow','to':{'nodeSelector':{}}},"
			 "{'type':'Deny','to':{'cidrSelector':'0.0.0.0/0'},'ports':null}]"));
	const struct egress_rule *rule = read.rules.rule;
	assert_int_equal(read.errors.n, 0);
	assert_int_equal(read.rules.n, 4);
	assert_int_equal(read.rules.n_warnings, 0);
	assert_int_equal(rule[0].target, EGRESS_TO_NAME);
	assert_string_equal(rule[0].name, "www.example.com");
	assert_int_equal(rule[0].n_ports, 2);
	assert_int_equal(rule[0].ports[1].protocol, EGRESS_SCTP);
	assert_int_equal(rule[0].ports[1].number, 65535);
	assert_int_equal(rule[1].target, EGRESS_TO_NODES);
	json_t *labels = json_pack("{ss,ss}", "a/b", "c", "f", "");
	assert_true(api_label_selector_match(&rule[1].nodes, labels));
	json_object_set_new(labels, "d", json_string("e"));
	assert_false(api_label_selector_match(&rule[1].nodes, labels));
	assert_true(api_label_selector_match(&rule[2].nodes, labels));
	json_decref(labels);
	assert_int_equal(rule[3].action, EGRESS_DENY);
	assert_int_equal(rule[3].index, 3);
	assert_int_equal(rule[3].range.n, 4);
	assert_int_equal(rule[3].n_ports, 0);
	read_done(&read);
}

/* What the published patterns of type and protocol accept, and what has no pattern at all. */
static const struct {
	const char *rule, *field, *body; /* of the only error */
} refused[] = {
	{ "{'type':'Allowed','to':{'cidrSelector':'1.2.3.4/32'}}", "spec.egress[0].type",
	  "Unsupported value: \"Allowed\": supported values: \"Allow\", \"Deny\"" },
	{ "{'type':'xDeny','to':{'cidrSelector':'1.2.3.4/32'}}", "spec.egress[0].type",
	  "Unsupported value: \"xDeny\": supported values: \"Allow\", \"Deny\"" },
	{ "{'to':{'cidrSelector':'1.2.3.4/32'}}", "spec.egress[0].type", "Required value" },
	{ "{'type':'Allow'}", "spec.egress[0].to", NULL },
	{ "{'type':'Allow','to':{}}", "spec.egress[0].to", NULL },
	{ "{'type':'Allow','to':{'dnsName':'a.example','cidrSelector':'1.2.3.4/32'}}",
	  "spec.egress[0].to", NULL },
	{ "{'type':'Allow','to':{'cidrSelector':'1.2.3.4'}}", "spec.egress[0].to.cidrSelector",
	  NULL },
	{ "{'type':'Allow','to':{'cidrSelector':7}}", "spec.egress[0].to.cidrSelector",
	  "Invalid value: 7: must be a text" },
	{ "{'type':'Allow','to':{'dnsName':'-a.example'}}", "spec.egress[0].to.dnsName",
	  "Invalid value: \"-a.example\": has a label that begins or ends with a hyphen" },
	{ "{'type':'Allow','to':{'dnsName':'192.0.2.1'}}", "spec.egress[0].to.dnsName", NULL },
	{ "{'type':'Allow','to':{'dnsName':[]}}", "spec.egress[0].to.dnsName", NULL },
	{ "{'type':'Allow','to':{'dnsName':'a.b'},'ports':[{'protocol':'TCPX','port':1}]}",
	  "spec.egress[0].ports[0].protocol", NULL },
	{ "{'type':'Allow','to':{'dnsName':'a.b'},'ports':[{'protocol':'TCP','port':0}]}",
	  "spec.egress[0].ports[0].port",
	  "Invalid value: 0: must be a number between 1 and 65535" },
	{ "{'type':'Allow','to':{'dnsName':'a.b'},'ports':[{'protocol':'TCP','port':65536}]}",
	  "spec.egress[0].ports[0].port", NULL },
	{ "{'type':'Allow','to':{'dnsName':'a.b'},'ports':[{'protocol':'TCP','port':1.5}]}",
	  "spec.egress[0].ports[0].port", NULL },
	{ "{'type':'Allow','to':{'dnsName':'a.b'},'ports':[{'protocol':'TCP'}]}",
	  "spec.egress[0].ports[0].port", "Required value" },
	{ "{'type':'Allow','to':{'dnsName':'a.b'},'ports':{}}", "spec.egress[0].ports", NULL },
	{ "{'type':'Allow','to':{'nodeSelector':[]}}", "spec.egress[0].to.nodeSelector", NULL },
	{ "{'type':'Allow','to':{'nodeSelector':{'matchLabels':{'-':'a'}}}}",
	  "spec.egress[0].to.nodeSelector.matchLabels", NULL },
	{ "{'type':'Allow','to':{'nodeSelector':{'matchLabels':{'a':'-'}}}}",
	  "spec.egress[0].to.nodeSelector.matchLabels", NULL },
	{ "{'type':'Allow','to':{'nodeSelector':{'matchExpressions':[{'key':'a','operator':'In'}]}}"
	  "}",
	  "spec.egress[0].to.nodeSelector.matchExpressions[0].values", NULL },
	{ "{'type':'Allow','to':{'nodeSelector':{'matchExpressions':["
	  "{'key':'a','operator':'Exists','values':['b']}]}}}",
	  "spec.egress[0].to.nodeSelector.matchExpressions[0].values", NULL },
	{ "{'type':'Allow','to':{'nodeSelector':{'matchExpressions':[{'key':'a','operator':'Gt'}]}}"
	  "}",
	  "spec.egress[0].to.nodeSelector.matchExpressions[0].operator", NULL },
	{ "7", "spec.egress[0]", "Invalid value: 7: must be an object" },
};

static void refused_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		char text[1024];
		struct read read;
		snprintf(text, sizeof(text),
			 "[%s,{'type':'Allow','to':{'dnsName':'good.example'}}]", refused[i].rule);
		read_text(&read, quoted(text));
		if (read.errors.n != 1)
			fail_msg("%s: %zu errors", refused[i].rule, read.errors.n);
		assert_string_equal(read.errors.v[0].field, refused[i].field);
		if (refused[i].body != NULL)
			assert_string_equal(read.errors.v[0].body, refused[i].body);
		/* The others are read all the same. */
		assert_int_equal(read.rules.n, 1);
		assert_int_equal(read.rules.rule[0].index, 1);
		read_done(&read);
	}
}

static void whole_objects(void **state)
{
	static const struct {
		const char *object, *field;
	} rows[] = {
		{ "{'metadata':{'name':'other'},'spec':{'egress':[]}}", "metadata.name" },
		{ "{'metadata':{'name':'default'},'spec':{}}", "spec.egress" },
		{ "{'metadata':{'name':'default'}}", "spec.egress" },
		{ "{'metadata':{'name':'default','annotations':"
		  "{'egress.fairlead.dev/wildcard-depth':'two'}},'spec':{'egress':[]}}",
		  "metadata.annotations[egress.fairlead.dev/wildcard-depth]" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct read read;
		read_text(&read, quoted(rows[i].object));
		assert_int_equal(read.errors.n, 1);
		assert_string_equal(read.errors.v[0].field, rows[i].field);
		read_done(&read);
	}
}

static void at_most_8000_rules(void **state)
{
	(void)state;
	for (size_t n = EGRESS_RULES_MAX; n <= EGRESS_RULES_MAX + 1; n++) {
		json_t *list = json_array();
		struct api_errors errors = { 0 };
		struct egress_rules rules;
		struct arena arena;
		for (size_t i = 0; i < n; i++)
			json_array_append_new(list, json_pack("{ss,s{ss}}", "type", "Deny", "to",
							      "dnsName", "*.a.example"));
		json_t *tree = json_pack("{s{ss},s{so}}", "metadata", "name", "default", "spec",
					 "egress", list);
		arena_init(&arena);
		egress_rules_read(tree, &arena, &rules, &errors);
		if (n == EGRESS_RULES_MAX) {
			assert_int_equal(errors.n, 0);
			assert_int_equal(rules.n, n);
			assert_int_equal(rules.n_warnings, EGRESS_WARNINGS_MAX);
			assert_int_equal(rules.n_warnings + rules.n_warnings_more, 2 * n);
		} else {
			assert_int_equal(errors.n, 1);
			assert_string_equal(errors.v[0].body,
					    "Too many: 8001: must have at most 8000 items");
		}
		arena_done(&arena);
		api_errors_done(&errors);
		json_decref(tree);
	}
}

static void warnings(void **state)
{
	struct read read;
	(void)state;
	read_text(&read, quoted("[{'type':'Deny','to':{'dnsName':'a.example'}},"
				"{'type':'Deny','to':{'dnsName':'*.a.example'}},"
				"{'type':'Allow','to':{'dnsName':'*.b.example'}},"
				"{'type':'Allow','to':{'cidrSelector':'10.0.0.1/8'}}]"));
	assert_int_equal(read.errors.n, 0);
	assert_int_equal(read.rules.n_warnings, 5);
	assert_int_equal(read.rules.warning[0].kind, EGRESS_DENY_BY_NAME);
	assert_string_equal(read.rules.warning[0].field, "spec.egress[0].to.dnsName");
	assert_int_equal(read.rules.warning[1].kind, EGRESS_DENY_BY_NAME);
	assert_int_equal(read.rules.warning[2].kind, EGRESS_ONE_LABEL);
	assert_non_null(strstr(read.rules.warning[2].message, "are not denied"));
	assert_int_equal(read.rules.warning[3].kind, EGRESS_ONE_LABEL);
	assert_string_equal(read.rules.warning[3].field, "spec.egress[2].to.dnsName");
	assert_non_null(strstr(read.rules.warning[3].message, "are not allowed"));
	assert_int_equal(read.rules.warning[4].kind, EGRESS_RANGE_HOST_BITS);
	assert_non_null(strstr(read.rules.warning[4].message, "10.0.0.0/8"));
	read_done(&read);
	/* Who says so knows it. */
	read_text(&read, quoted("{'metadata':{'name':'default','annotations':"
				"{'egress.fairlead.dev/wildcard-depth':'one'}},'spec':{'egress':["
				"{'type':'Allow','to':{'dnsName':'*.a.example'}}]}}"));
	assert_false(read.rules.any_depth);
	assert_int_equal(read.rules.n_warnings, 0);
	read_done(&read);
	read_text(&read, quoted("{'metadata':{'name':'default','annotations':"
				"{'egress.fairlead.dev/wildcard-depth':'any'}},'spec':{'egress':["
				"{'type':'Deny','to':{'dnsName':'*.a.example'}}]}}"));
	assert_true(read.rules.any_depth);
	assert_int_equal(read.rules.n_warnings, 1);
	read_done(&read);
}

static void collect(void *ctx, const struct egress_name *name)
{
	struct strbuf *out = ctx;
	char object[EGRESS_NAME_MAX + 1];
	egress_name_object(name->text, name->is_wildcard, object);
	strbuf_addf(out, "%s ", object);
}

static void names_of_a_tree(void **state)
{
	struct read read;
	CLEANUP(strbuf_done) struct strbuf found = STRBUF_INIT;
	(void)state;
	read_text(&read, quoted("[{'type':'Deny','to':{'dnsName':'A.example.'}},{'to':{}},7,"
				"{'type':'no','to':{'dnsName':'*.b.example'}},"
				"{'type':'Allow','to':{'dnsName':'-'}},"
				"{'type':'Deny','to':{'dnsName':'a.example'}}]"));
	egress_rules_each_name(read.tree, collect, &found);
	assert_string_equal(found.s, "a.example wildcard.b.example a.example ");
	read_done(&read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_are_read), cmocka_unit_test(refused_table),
		cmocka_unit_test(whole_objects),    cmocka_unit_test(at_most_8000_rules),
		cmocka_unit_test(warnings),	    cmocka_unit_test(names_of_a_tree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
