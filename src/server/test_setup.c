/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What plugins use to read their stanzas: options, zones, fallthrough, paths, the block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/query.h"
#include "server/setup.h"
#include "testing/fake_server.h"

struct conf {
	const char *first;
	uint64_t number;
	struct fallthrough fall;
	struct zone_list zones;
};

static const struct opt rows[] = {
	{ "<first>", OPT_STRING, offsetof(struct conf, first), .def = "nothing" },
	{ "number", OPT_UINT, offsetof(struct conf, number), 1, 10, .def = "5" },
	{ "fallthrough", OPT_FN, offsetof(struct conf, fall), .fn = setup_fallthrough_opt },
};

static struct conf seen;
static char path[128], zones[512], blocks[512];

static int parse(struct plugin_inst *self, struct setup *s)
{
	struct conf *c = self->conf;
	int r = setup_once(s);
	if (r == 0)
		r = setup_options(s, s->dir[0], rows, ARRAY_LEN(rows), c, s);
	if (r == 0)
		r = setup_zones(s, s->dir[0]->arg, 0, &c->zones);
	if (r < 0)
		return r;
	seen = *c;
	s->conf->root = "/srv";
	snprintf(path, sizeof(path), "%s %s", setup_path(s, "a/b"), setup_path(s, "/c"));
	zones[0] = '\0';
	for (size_t i = 0; i < c->zones.n; i++)
		snprintf(zones + strlen(zones), sizeof(zones) - strlen(zones), "%s ",
			 c->zones.text[i]);
	return 0;
}

static int prepare(struct plugin_inst *self, struct prepare *p)
{
	struct block *b = self->block;
	const char *server, *zone;
	(void)p;
	assert_ptr_equal(block_find(b, "t"), self);
	assert_null(block_find(b, "nosuch"));
	assert_non_null(block_find(b, "z"));
	assert_ptr_equal(block_inst(b, 0), self);
	assert_null(block_inst(b, 2));
	assert_ptr_equal(block_next(b, self), block_find(b, "z"));
	assert_null(block_next(b, block_find(b, "z")));
	assert_non_null(block_generation(b));
	blocks[0] = '\0';
	for (size_t i = 0; block_served(b, i, &server, &zone); i++)
		snprintf(blocks + strlen(blocks), sizeof(blocks) - strlen(blocks), "%s@%s ", zone,
			 server);
	return 0;
}

static enum verdict serve(struct plugin_inst *self, struct query *q)
{
	struct conf *c = self->conf;
	return fallthrough_covers(&c->fall, &q->qname) ? V_NEXT
						       : query_fail(q, DNS_RCODE_REFUSED, NULL);
}

static enum verdict z_serve(struct plugin_inst *self, struct query *q)
{
	(void)self;
	query_reply(q);
	return V_ANSWERED;
}

static char z_zones[512];
static size_t n_z_zones;
static const struct zone_list *z_list;

/* `z ZONES...`: expands them. */
static int z_parse(struct plugin_inst *self, struct setup *s)
{
	struct zone_list *z = self->conf;
	z_list = z;
	int r = setup_zones(s, s->dir[0]->arg, s->dir[0]->n_arg, z);
	if (r < 0)
		return r;
	z_zones[0] = '\0';
	n_z_zones = z->n;
	for (size_t i = 0; i < MIN(z->n, (size_t)3); i++)
		snprintf(z_zones + strlen(z_zones), sizeof(z_zones) - strlen(z_zones), "%s ",
			 z->text[i]);
	return 0;
}

static const struct plugin t_plugin = { .name = "t",
					.conf_size = sizeof(struct conf),
					.parse = parse,
					.prepare = prepare,
					.serve = serve };
static const struct plugin z_plugin = {
	.name = "z", .conf_size = sizeof(struct zone_list), .parse = z_parse, .serve = z_serve
};
const struct plugin *const plugin_list[] = { &t_plugin, &z_plugin, NULL };

static void reads_stanzas(void **state)
{
	(void)state;
	struct fake *f = fake_new("B.test a.test:54 b.test:54 10.0.0.0/7 {\n"
				  " t word {\n  number 7\n  fallthrough x.b.TEST\n }\n z\n}\n"
				  "other.test {\n z\n}\n");
	if (f == NULL)
		print_error("%s\n", fake_error());
	assert_string_equal(seen.first, "word");
	assert_int_equal(seen.number, 7);
	assert_string_equal(path, "/srv/a/b /c");
	assert_string_equal(zones, "b.test. a.test. 10.in-addr.arpa. 11.in-addr.arpa. ");
	assert_string_equal(blocks, "b.test.@dns://:53 a.test.@dns://:54 b.test.@dns://:54 "
				    "10.in-addr.arpa.@dns://:53 11.in-addr.arpa.@dns://:53 ");
	static const struct {
		const char *name, *rcode;
	} asks[] = { { "b.test", "REFUSED" },
		     { "x.b.test", "NOERROR" },
		     { "Y.X.b.test", "NOERROR" },
		     { "xx.b.test", "REFUSED" } };
	for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
		const char *text = fake_ask(f, &(struct fake_ask){ .name = asks[i].name });
		assert_memory_equal(text, asks[i].rcode, strlen(asks[i].rcode));
	}
	fake_free(f);
}

static void defaults(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n t\n z\n}\nother.test {\n z\n}\n");
	assert_string_equal(seen.first, "nothing");
	assert_int_equal(seen.number, 5);
	assert_false(seen.fall.on);
	assert_memory_equal(fake_ask(f, &(struct fake_ask){ 0 }), "REFUSED", 7);
	fake_free(f);
	f = fake_new(". {\n t {\n  fallthrough\n }\n z\n}\nother.test {\n z\n}\n");
	assert_true(seen.fall.on && seen.fall.all);
	assert_memory_equal(fake_ask(f, &(struct fake_ask){ 0 }), "NOERROR", 7);
	fake_free(f);
}

static void expands_networks(void **state)
{
	static const struct {
		const char *args, *text;
		size_t n;
	} cases[] = {
		{ "10.0.0.0/8", "10.in-addr.arpa. ", 1 },
		{ "192.0.2.0/25",
		  "0.2.0.192.in-addr.arpa. 1.2.0.192.in-addr.arpa. "
		  "2.2.0.192.in-addr.arpa. ",
		  128 },
		{ "Example.ORG sub", "example.org. sub. ", 2 },
		{ "2001:db8::/32", "8.b.d.0.1.0.0.2.ip6.arpa. ", 1 },
		{ ".", ". ", 1 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[200];
		snprintf(text, sizeof(text), ". {\n z %s\n}\n", cases[i].args);
		struct fake *f = fake_new(text);
		assert_non_null(f);
		assert_string_equal(z_zones, cases[i].text);
		assert_int_equal(n_z_zones, cases[i].n);
		fake_free(f);
	}
}

static void longest_zone_of_a_list(void **state)
{
	static const uint8_t org[] = "\3org", example[] = "\7example\3org";
	const uint8_t *wire[] = { dns_name_root, org, example, org };
	struct zone_list z = { .wire = wire, .n = 4 };
	static const struct {
		const char *name;
		int at;
	} asks[] = { { "a.EXAMPLE.org", 2 }, { "example.org", 2 }, { "x.org", 1 }, { "com", 0 } };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
		uint8_t name[DNS_NAME_MAX];
		struct dns_qname q;
		assert_true(dns_name_from_text(slice_of(asks[i].name), name) > 0);
		dns_qname_set(&q, name);
		assert_int_equal(zone_list_match(&z, &q), asks[i].at);
	}
	z.n = 0;
	struct dns_qname q;
	dns_qname_set(&q, org);
	assert_int_equal(zone_list_match(&z, &q), -1);
}

/* A list that is looked up by hash finds the same: the longest, of equal ones the first. */
static void longest_zone_of_a_long_list(void **state)
{
	enum { ZONES = 3000 };
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	(void)state;
	strbuf_adds(&text, ". {\n z");
	for (unsigned i = 0; i < ZONES; i++)
		strbuf_addf(&text, " z%u.Example", i);
	strbuf_adds(&text, " a.z7.example z7.example example\n}\n");
	struct fake *f = fake_new(text.s);
	assert_non_null(f);
	static const struct {
		const char *name;
		int at;
	} asks[] = {
		{ "x.z2999.example", 2999 },
		{ "z0.EXAMPLE", 0 },
		{ "z7.example", 7 },
		{ "b.a.z7.example", ZONES },
		{ "z3000.example", ZONES + 2 },
		{ "org", -1 },
		{ ".", -1 },
	};
	for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
		uint8_t name[DNS_NAME_MAX];
		struct dns_qname q;
		assert_true(dns_name_from_text(slice_of(asks[i].name), name) > 0);
		dns_qname_set(&q, name);
		assert_int_equal(zone_list_match(z_list, &q), asks[i].at);
	}
	fake_free(f);
}

static void errors(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ ". {\n t\n t\n}\n", "Corefile:3:2: 't' may be used only once in a server block, "
				      "first at line 2" },
		{ ". {\n t {\n  number 5 {\n  }\n }\n}\n",
		  "Corefile:3:3: 'number' takes no block" },
		{ ". {\n z a..b\n}\n", NULL },
		{ ". {\n t {\n  number 11\n }\n}\n", NULL },
		{ ". {\n t {\n  nosuch\n }\n}\n", NULL },
		{ ". {\n t {\n  fallthrough a..b\n }\n}\n", NULL },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_null(fake_new(cases[i].text));
		if (cases[i].error != NULL)
			assert_string_equal(fake_error(), cases[i].error);
		else /* the place is the word's */
			assert_memory_equal(fake_error(), "Corefile:", 9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_stanzas),
		cmocka_unit_test(defaults),
		cmocka_unit_test(expands_networks),
		cmocka_unit_test(errors),
		cmocka_unit_test(longest_zone_of_a_list),
		cmocka_unit_test(longest_zone_of_a_long_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
