/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dnssource: which DNSRecords a source should have, and which sentences its owner gets. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "controller/dnssource/wanted.h"

#define CONFIG                                                                                  \
	"{\"data\": {\"example.com\": \"{type: rfc2136, secret: key, ttl: 60}\","               \
	"\"Own.example.com\": \"{type: powerdns, secret: dns/key, zone: z, namespaces: [a]}\"," \
	"\"in.example.com\": \"{type: rfc2136, secret: key, ingressHosts: true}\","             \
	"\"list.example.com\": \"[a]\", \"yaml.example.com\": \"a: [\","                        \
	"\"word.example.com\": \"{type: a, secret: b, zones: c}\","                             \
	"\"secret.example.com\": \"{type: a, secret: a/b/c}\"}}"

#define SERVICE(annotations, rest)                                                          \
	"{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"web\"," \
	" \"namespace\": \"shop\", \"uid\": \"u\", \"annotations\": {" annotations "}}, " rest "}"
#define INGRESS(annotations, rest)                                                    \
	"{\"apiVersion\": \"networking.k8s.io/v1\", \"kind\": \"Ingress\","           \
	" \"metadata\": {\"name\": \"web\", \"namespace\": \"shop\", \"uid\": \"u\"," \
	" \"annotations\": {" annotations "}}, " rest "}"
#define HOST(text)   "\"external-dns.alpha.kubernetes.io/hostname\": \"" text "\""
#define TTL(text)    ", \"external-dns.alpha.kubernetes.io/ttl\": \"" text "\""
#define TARGET(text) ", \"external-dns.alpha.kubernetes.io/target\": \"" text "\""
#define LB(entries)                               \
	"\"spec\": {\"type\": \"LoadBalancer\"}," \
	" \"status\": {\"loadBalancer\": {\"ingress\": [" entries "]}}"
#define LB1 LB("{\"ip\": \"192.0.2.1\"}")
#define RULES(host)                                                                            \
	"\"spec\": {\"rules\": [{\"host\": \"" host "\"}, {}], \"tls\": [{\"hosts\": [\"" host \
	"\"]}, {}]}, \"status\": {\"loadBalancer\": {\"ingress\": [{\"ip\": \"192.0.2.1\"}]}}"

static const struct row {
	const char *object;
	const char *records; /* one line each */
	const char *problem; /* reason and a part of the first sentence; NULL: none */
	bool keeps;
} rows[] = {
	{ SERVICE(HOST("a.example.com"), LB1), "a.example.com A 60 192.0.2.1\n", NULL, false },
	{ SERVICE(HOST(" A.Example.com. ,, b.example.com,a.example.com") TTL("1h"), LB1),
	  "a.example.com A 3600 192.0.2.1\nb.example.com A 3600 192.0.2.1\n", NULL, false },
	{ SERVICE(HOST("*.example.com"), LB1), "*.example.com A 60 192.0.2.1\n", NULL, false },
	{ SERVICE(HOST("a.example.com"), LB("{\"ip\": \"2001:db8::1\"}, {\"ip\": \"192.0.2.1\"}, "
					    "{\"ip\": \"192.0.2.1\"}")),
	  "a.example.com A 60 192.0.2.1\na.example.com AAAA 60 2001:db8::1\n", NULL, false },
	{ SERVICE(HOST("a.example.com"),
		  "\"spec\": {\"type\": \"LoadBalancer\", \"externalIPs\": [\"192.0.2.5\"]},"
		  " \"status\": {\"loadBalancer\": {\"ingress\": [{\"ip\": \"192.0.2.1\"}]}}"),
	  "a.example.com A 60 192.0.2.5\n", NULL, false },
	{ SERVICE(HOST("a.example.com"),
		  "\"spec\": {\"type\": \"ExternalName\", \"externalName\": \"B.example.net.\"}"),
	  "a.example.com CNAME 60 b.example.net\n", NULL, false },
	{ SERVICE(HOST("a.example.com") TARGET("192.0.2.7, 192.0.2.8"), LB1),
	  "a.example.com A 60 192.0.2.7 192.0.2.8\n", NULL, false },
	/* No address yet, no annotation, another program's: nothing, and no complaint. */
	{ SERVICE(HOST("a.example.com"), LB("")), "", NULL, false },
	{ SERVICE("", LB1), "", NULL, false },
	{ SERVICE(HOST("a.example.com") ", \"external-dns.alpha.kubernetes.io/controller\": \"x\"",
		  LB1),
	  "", NULL, false },
	{ "{\"kind\": \"Service\", \"metadata\": 1}", "", NULL, false },
	/* Domains. */
	{ SERVICE(HOST("a.example.net,a.example.com"), LB1), "a.example.com A 60 192.0.2.1\n",
	  "NoDomain 'a.example.net' is in no domain of ConfigMap own/x", true },
	{ SERVICE(HOST("badexample.com"), LB1), "", "NoDomain 'badexample.com'", true },
	{ SERVICE(HOST("a.own.example.com"), LB1), "",
	  "NamespaceNotAllowed 'a.own.example.com' has no records", false },
	{ SERVICE(HOST("a.list.example.com"), LB1), "", "InvalidDomain .*mapping", true },
	{ SERVICE(HOST("a.yaml.example.com"), LB1), "", "InvalidDomain .*line ", true },
	{ SERVICE(HOST("a.word.example.com"), LB1), "", "InvalidDomain .*unknown setting 'zones'",
	  true },
	{ SERVICE(HOST("a.secret.example.com"), LB1), "", "InvalidDomain .*'a/b/c' is neither",
	  true },
	/* Annotations. */
	{ SERVICE(HOST("a.example.com") TTL("0"), LB1), "", "InvalidTTL .*'0'", true },
	{ SERVICE(HOST("a.example.com") TTL("500ms"), LB1), "", "InvalidTTL .*'500ms'", true },
	{ SERVICE(HOST("a.example.com") TTL("-5s"), LB1), "", "InvalidTTL .*'-5s'", true },
	{ SERVICE(HOST("a.example.com") TTL("2147483648"), LB1), "", "InvalidTTL .*", true },
	{ SERVICE(HOST("a..example.com"), LB1), "",
	  "InvalidName 'a..example.com' cannot have a A record", true },
	{ SERVICE(HOST("a.example.com") TARGET("a.example.com"), LB1), "", "InvalidName .*own name",
	  true },
	{ SERVICE(HOST("a.example.com") TARGET("::ffff:192.0.2.1"), LB1), "",
	  "InvalidName .*mapped", true },
	{ SERVICE(HOST("a.example.com") TARGET("x.example.net,y.example.net"), LB1), "",
	  "InvalidTarget 'x.example.net' and 'y.example.net'", true },
	{ SERVICE(HOST("a.example.com"), LB("{\"ip\": \"192.0.2.1\"}, {\"hostname\": \"x.y\"}")),
	  "", "InvalidTarget 'x.y' is a host name and '192.0.2.1' an address", true },
	{ SERVICE(HOST("a.example.com"), "\"spec\": {\"type\": \"NodePort\"}"), "",
	  "NoTarget a Service of type NodePort", false },
	/* Ingresses. */
	{ INGRESS(HOST("a.example.com"), RULES("b.example.com")), "a.example.com A 60 192.0.2.1\n",
	  NULL, false },
	{ INGRESS("", RULES("b.in.example.com")), "b.in.example.com A - 192.0.2.1\n", NULL, false },
	{ INGRESS(HOST("b.in.example.com") TTL("9"), RULES("B.in.example.com")),
	  "b.in.example.com A 9 192.0.2.1\n", NULL, false },
	{ INGRESS("", RULES("b.example.com")), "", NULL, false },
};

static void add_line(struct strbuf *out, const json_t *object)
{
	const json_t *ttl = api_get(object, "spec.ttl");
	json_t *value;
	size_t i;
	strbuf_addf(out, "%s %s ", api_get_string(object, "spec.name"),
		    api_get_string(object, "spec.recordType"));
	if (ttl != NULL)
		strbuf_addf(out, "%lld", (long long)json_integer_value(ttl));
	else
		strbuf_adds(out, "-");
	json_array_foreach (api_get(object, "spec.values"), i, value)
		strbuf_addf(out, " %s", api_text(value));
	strbuf_addc(out, '\n');
}

/* "REASON .*PART", or "REASON BEGINNING". */
static void check_problem(const struct dnssource_problems *problems, const char *expected)
{
	if (expected == NULL) {
		assert_int_equal(problems->n, 0);
		return;
	}
	assert_int_not_equal(problems->n, 0);
	struct slice rest = slice_of(expected), reason = slice_cut(&rest, ' ');
	assert_true(slice_is(reason, problems->v[0].reason));
	bool anywhere = slice_starts(rest, SLICE(".*"));
	const char *found = strstr(problems->v[0].text, rest.p + (anywhere ? 2 : 0));
	if (found == NULL || (!anywhere && found != problems->v[0].text))
		fail_msg("'%s' is not '%s'", problems->v[0].text, rest.p);
}

static void check_row(const struct row *row)
{
	struct arena arena;
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
	json_t *object = json_loads(row->object, 0, NULL),
	       *config_map = json_loads(CONFIG, 0, NULL);
	json_t *record;
	struct dnssource_config config;
	size_t i;
	assert_non_null(object);
	assert_non_null(config_map);
	arena_init(&arena);
	struct dnssource_problems problems = { .arena = &arena };
	dnssource_config_read(config_map, &arena, &config);
	json_t *wanted = dnssource_want(object, &config, "own/x", &arena, &problems);
	json_array_foreach (wanted, i, record)
		add_line(&lines, record);
	assert_string_equal(lines.s, row->records);
	check_problem(&problems, row->problem);
	assert_int_equal(problems.keeps_records, row->keeps);
	json_decref(wanted);
	dnssource_config_done(&config);
	json_decref(config_map);
	json_decref(object);
	arena_done(&arena);
}

static void table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(&rows[i]);
}

/* Objects differ by what is immutable in them, and are the same in each process. */
static void names_of_objects(void **state)
{
	static const char *const hosts[] = { "a.example.com", "b.example.com" };
	char names[2][256];
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct arena arena;
		struct dnssource_config config;
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		arena_init(&arena);
		strbuf_addf(&text,
			    SERVICE("\"external-dns.alpha.kubernetes.io/hostname\": \"%s\"", LB1),
			    hosts[i]);
		struct dnssource_problems problems = { .arena = &arena };
		json_t *object = json_loads(text.s, 0, NULL), *map = json_loads(CONFIG, 0, NULL);
		dnssource_config_read(map, &arena, &config);
		json_t *wanted = dnssource_want(object, &config, "own/x", &arena, &problems);
		snprintf(names[i], sizeof(names[i]), "%s", api_name(json_array_get(wanted, 0)));
		json_decref(wanted);
		dnssource_config_done(&config);
		json_decref(map);
		json_decref(object);
		arena_done(&arena);
	}
	assert_string_not_equal(names[0], names[1]);
	assert_string_equal(names[0], "service-web-a-e3c53ad872b326c1");
}

/* Without a ConfigMap there are no domains. */
static void no_config(void **state)
{
	struct arena arena;
	struct dnssource_config config;
	(void)state;
	arena_init(&arena);
	dnssource_config_read(NULL, &arena, &config);
	assert_null(dnssource_config_find(&config, "a.example.com"));
	dnssource_config_done(&config);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(table),
					    cmocka_unit_test(names_of_objects),
					    cmocka_unit_test(no_config) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
