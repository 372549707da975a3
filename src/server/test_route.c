/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a question to a block: suffixes, views, DS, listeners, opcodes and classes, and what a
 * Corefile may not say about zones and listeners. Each block answers with a TXT record that names
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "server/query.h"
#include "server/setup.h"
#include "testing/fake_server.h"

/* ---- plugins: the name of a block, and its settings for the server ---- */

struct tag_conf {
	const char *name;
};

static int tag_parse(struct plugin_inst *self, struct setup *s)
{
	struct tag_conf *c = self->conf;
	c->name = s->dir[0]->arg[0].s;
	return 0;
}

static enum verdict tag_serve(struct plugin_inst *self, struct query *q)
{
	const struct tag_conf *c = self->conf;
	size_t n = strlen(c->name);
	uint8_t *rdata = arena_alloc(&q->arena, n + 1);
	rdata[0] = (uint8_t)n;
	memcpy(rdata + 1, c->name, n);
	struct dns_rr rr = { .owner = dns_name_root,
			     .type = DNS_TYPE_TXT,
			     .cls = DNS_CLASS_IN,
			     .rdata = rdata,
			     .rdlen = (uint16_t)(n + 1) };
	query_reply(q);
	if (dns_resp_add(&q->resp, &q->arena, DNS_ANSWER, &rr) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	return V_ANSWERED;
}

/* `only PORT`: a view of clients with that source port. */
static int only_filter(void *ctx, struct query *q)
{
	const struct tag_conf *c = ctx;
	char port[8];
	snprintf(port, sizeof(port), "%u", net_addr_port(&q->client));
	return strcmp(port, c->name) == 0;
}

static int only_parse(struct plugin_inst *self, struct setup *s)
{
	tag_parse(self, s);
	s->conf->view = s->dir[0]->arg[0].s;
	s->conf->filter = only_filter;
	s->conf->filter_ctx = self->conf;
	return 0;
}

static int on_parse(struct plugin_inst *self, struct setup *s)
{
	const struct corefile_dir *d = s->dir[0];
	const char **ip = arena_alloc(s->arena, d->n_arg * sizeof(*ip));
	(void)self;
	for (size_t i = 0; i < d->n_arg; i++)
		ip[i] = d->arg[i].s;
	s->conf->listen = ip;
	s->conf->n_listen = d->n_arg;
	return 0;
}

static int updates_parse(struct plugin_inst *self, struct setup *s)
{
	(void)self;
	s->conf->opcodes = 1 << DNS_OPCODE_UPDATE;
	return 0;
}

static int classes_parse(struct plugin_inst *self, struct setup *s)
{
	(void)self;
	s->conf->any_class = true;
	return 0;
}

static const struct plugin only_plugin = { .name = "only",
					   .conf_size = sizeof(struct tag_conf),
					   .parse = only_parse };
static const struct plugin on_plugin = { .name = "on", .parse = on_parse };
static const struct plugin updates_plugin = { .name = "updates", .parse = updates_parse };
static const struct plugin classes_plugin = { .name = "classes", .parse = classes_parse };
static const struct plugin tag_plugin = {
	.name = "tag", .conf_size = sizeof(struct tag_conf), .parse = tag_parse, .serve = tag_serve
};
const struct plugin *const plugin_list[] = {
	&only_plugin, &on_plugin, &updates_plugin, &classes_plugin, &tag_plugin, NULL,
};

/* The tag of the block that answered, or the rcode, or "silence". */
static const char *where_ask(struct fake *f, const struct fake_ask *a)
{
	static char tag[64];
	const char *text = fake_ask(f, a);
	if (text == NULL)
		return "silence";
	const char *at = strstr(text, "TXT \"");
	if (at != NULL)
		snprintf(tag, sizeof(tag), "%.*s", (int)strcspn(at + 5, "\""), at + 5);
	else
		snprintf(tag, sizeof(tag), "%.*s", (int)strcspn(text, " \n"), text);
	return tag;
}

static const char *where(struct fake *f, const char *name)
{
	return where_ask(f, &(struct fake_ask){ .name = name });
}

static struct fake *start(const char *corefile)
{
	struct fake *f = fake_new(corefile);
	if (f == NULL)
		print_error("%s\n", fake_error());
	assert_non_null(f);
	return f;
}

/* ---- suffixes ---- */

static void longest_suffix_wins(void **state)
{
	(void)state;
	struct fake *f = start("example.org {\n tag example\n}\n"
			       "a.Example.ORG b.example.org {\n tag ab\n}\n"
			       "org {\n tag org\n}\n"
			       "10.0.0.0/8 {\n tag ten\n}\n");
	static const struct {
		const char *name, *tag;
	} rows[] = {
		{ "example.org", "example" },
		{ "x.example.org", "example" },
		{ "a.example.org", "ab" },
		{ "x.A.eXample.org", "ab" },
		{ "b.example.org", "ab" },
		{ "ab.example.org", "example" },
		{ "aexample.org", "org" },
		{ "org", "org" },
		{ "com", "REFUSED" },
		{ ".", "REFUSED" },
		{ "1.2.3.10.in-addr.arpa", "ten" },
		{ "1.2.3.11.in-addr.arpa", "REFUSED" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(where(f, rows[i].name), rows[i].tag);
	fake_free(f);
}

static void root_takes_the_rest(void **state)
{
	(void)state;
	struct fake *f = start(". {\n tag root\n}\norg {\n tag org\n}\n");
	assert_string_equal(where(f, "com"), "root");
	assert_string_equal(where(f, "."), "root");
	assert_string_equal(where(f, "x.org"), "org");
	fake_free(f);
}

static void block_without_handlers_refuses(void **state)
{
	(void)state;
	struct fake *f = start("example.org {\n}\n. {\n tag root\n}\n");
	assert_string_equal(where(f, "x.example.org"), "REFUSED");
	assert_string_equal(where(f, "com"), "root");
	fake_free(f);
	/* As the last resort, an empty root block is passed over. */
	f = start(". {\n only 1\n}\n. {\n only 5353\n tag view\n}\n");
	assert_string_equal(where(f, "com"), "view");
	assert_string_equal(where(f, "."), "REFUSED");
	fake_free(f);
}

/* ---- views ---- */

static const char *from(struct fake *f, const char *name, const char *client)
{
	return where_ask(f, &(struct fake_ask){ .name = name, .client = client });
}

static void first_view_that_takes_it(void **state)
{
	(void)state;
	struct fake *f = start("example.org {\n only 1\n tag one\n}\n"
			       "example.org {\n only 2\n tag two\n}\n"
			       "example.org {\n only 2\n tag again\n}\n"
			       "org {\n only 3\n tag three\n}\n"
			       ". {\n tag root\n}\n");
	assert_string_equal(from(f, "a.example.org", "192.0.2.1:1"), "one");
	assert_string_equal(from(f, "a.example.org", "192.0.2.1:2"), "two");
	assert_string_equal(from(f, "a.example.org", "192.0.2.1:3"), "three");
	assert_string_equal(from(f, "a.example.org", "192.0.2.1:4"), "root");
	fake_free(f);
	f = start("example.org {\n only 1\n tag one\n}\n");
	assert_string_equal(from(f, "example.org", "192.0.2.1:2"), "REFUSED");
	fake_free(f);
	/* An unfiltered block of the same zone, in file order. */
	f = start("example.org {\n tag all\n}\nexample.org {\n only 1\n tag one\n}\n");
	assert_string_equal(from(f, "example.org", "192.0.2.1:1"), "all");
	fake_free(f);
	f = start("example.org {\n only 1\n tag one\n}\nexample.org {\n tag all\n}\n");
	assert_string_equal(from(f, "example.org", "192.0.2.1:1"), "one");
	assert_string_equal(from(f, "example.org", "192.0.2.1:2"), "all");
	fake_free(f);
}

/* ---- DS ---- */

static const char *ds(struct fake *f, const char *name, const char *client)
{
	return where_ask(f, &(struct fake_ask){ .name = name, .type = "DS", .client = client });
}

static void ds_goes_to_the_parent(void **state)
{
	(void)state;
	struct fake *f = start("org {\n tag org\n}\n"
			       "example.org {\n tag example\n}\n"
			       "a.example.org {\n tag a\n}\n"
			       "test {\n tag test\n}\n"
			       ". {\n tag root\n}\n");
	assert_string_equal(ds(f, "x.a.example.org", NULL), "org"); /* the shortest but root */
	assert_string_equal(ds(f, "example.org", NULL), "org");
	assert_string_equal(ds(f, "x.test", NULL), "test");
	assert_string_equal(ds(f, "com", NULL), "root");
	assert_string_equal(ds(f, ".", NULL), "root");
	assert_string_equal(where(f, "x.a.example.org"), "a");
	/* For QUERY only. */
	assert_string_equal(where_ask(f, &(struct fake_ask){ .name = "a.example.org",
							     .type = "DS",
							     .flags = DNS_OPCODE_NOTIFY << 11 }),
			    "a");
	fake_free(f);
}

static void ds_among_views_takes_the_last(void **state)
{
	(void)state;
	struct fake *f = start("org {\n only 1\n tag first\n}\n"
			       "org {\n only 1\n tag last\n}\n"
			       ". {\n only 1\n tag root1\n}\n"
			       ". {\n only 1\n tag root2\n}\n");
	assert_string_equal(ds(f, "org", "192.0.2.1:1"), "last");
	assert_string_equal(ds(f, "com", "192.0.2.1:1"), "root1"); /* the last resort: first */
	assert_string_equal(ds(f, ".", "192.0.2.1:1"), "root2");
	fake_free(f);
	/* A zone without handlers on the way up ends it. */
	f = start("example.org {\n tag example\n}\norg {\n}\n");
	assert_string_equal(ds(f, "example.org", NULL), "REFUSED");
	fake_free(f);
}

/* ---- opcodes and classes ---- */

static const char *opcode(struct fake *f, const char *name, uint16_t code)
{
	return where_ask(f, &(struct fake_ask){ .name = name, .flags = (uint16_t)(code << 11) });
}

static void opcode_gate(void **state)
{
	(void)state;
	struct fake *f = start("example.org {\n tag example\n}\n");
	static const uint8_t denied[] = { 1, 2, 3, 5, 6, 15 };
	for (size_t i = 0; i < sizeof(denied); i++) {
		char bare[64];
		snprintf(bare, sizeof(bare), "NOTIMP qr opcode=%u\n", denied[i]);
		assert_string_equal(
			fake_ask(f, &(struct fake_ask){ .flags = (uint16_t)(denied[i] << 11) }),
			bare);
	}
	assert_string_equal(opcode(f, "example.org", DNS_OPCODE_NOTIFY), "example");
	fake_free(f);

	/* One block of the listener takes updates: the others say so with the question. */
	f = start("example.org {\n tag example\n}\nupd.test {\n updates\n tag upd\n}\n");
	assert_string_equal(opcode(f, "upd.test", DNS_OPCODE_UPDATE), "upd");
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .flags = DNS_OPCODE_UPDATE << 11 }),
			    "NOTIMP qr opcode=5\nquestion example.org. IN A\n");
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .flags = 2 << 11 }),
			    "NOTIMP qr opcode=2\n");
	fake_free(f);
}

static void class_gate(void **state)
{
	(void)state;
	struct fake *f = start("example.org {\n tag example\n}\n"
			       "ch.test:54 {\n classes\n tag ch\n}\n"
			       "other.test:54 {\n tag other\n}\n");
	struct fake_ask a = { .cls = "CH" };
	assert_string_equal(fake_ask(f, &a), "REFUSED qr rd\nquestion example.org. CH A\n");
	/* One block opens the gate for its listener. */
	a = (struct fake_ask){ .cls = "CH", .name = "ch.test", .listen_port = 54 };
	assert_string_equal(where_ask(f, &a), "ch");
	a.name = "other.test";
	assert_string_equal(where_ask(f, &a), "other");
	a.name = "nowhere";
	assert_string_equal(where_ask(f, &a), "REFUSED");
	fake_free(f);
}

/* ---- listeners ---- */

static void listeners_are_apart(void **state)
{
	(void)state;
	struct fake *f = start("a.test:5301 {\n tag one\n}\n"
			       "a.test:5302 b.test:5301 {\n tag two\n}\n");
	struct fake_ask a = { .name = "a.test", .listen_port = 5301 };
	assert_string_equal(where_ask(f, &a), "one");
	a.listen_port = 5302;
	assert_string_equal(where_ask(f, &a), "two");
	a.name = "b.test";
	assert_string_equal(where_ask(f, &a), "REFUSED");
	a.listen_port = 5301;
	assert_string_equal(where_ask(f, &a), "two");
	fake_free(f);
}

static void refused_corefiles(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "a.test {\n tag 1\n}\nA.test {\n tag 2\n}\n",
		  "Corefile:4:1: cannot serve a.test. on dns://:53 - it is already defined" },
		{ "a.test a.test:53 {\n tag 1\n}\n",
		  "Corefile:1:8: cannot serve a.test. on dns://:53 - it is already defined" },
		{ "a.test {\n on 127.0.0.1\n}\na.test {\n on 127.0.0.1\n}\n",
		  "Corefile:4:1: cannot serve a.test. on dns://127.0.0.1:53 - it is already "
		  "defined" },
		{ "a.test {\n on ::1\n}\na.test {\n tag x\n}\n",
		  "Corefile:4:1: cannot serve a.test. on port 53 - zone overlap listener capacity "
		  "with a block that sets an address by 'bind'" },
		{ "a.test {\n tag x\n}\na.test {\n on 127.0.0.1 ::1\n}\n",
		  "Corefile:4:1: cannot serve a.test. on port 53 - zone overlap listener capacity "
		  "with a block that does not set an address by 'bind'" },
		{ "a.test {\n tag x\n}\na.test {\n only 1\n on 127.0.0.1\n}\n",
		  "Corefile:4:1: cannot serve a.test. on port 53 - zone overlap listener capacity "
		  "with a block that does not set an address by 'bind'" },
		{ "quic://a.test {\n}\n",
		  "Corefile:1:1: scheme 'quic://' is not supported, use 'dns://', 'tls://' or "
		  "'https://'" },
		{ "a.test {\n on nowhere\n}\n", "cannot listen on 'dns://nowhere:53'" },
		{ "a.test {\n nosuch\n}\n",
		  "Corefile:2:2: unknown directive 'nosuch', expected the name of a plugin "
		  "(see `fairlead dns -plugins`)" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_null(fake_new(rows[i].text));
		assert_string_equal(fake_error(), rows[i].error);
	}
}

static void accepted_corefiles(void **state)
{
	static const char *const rows[] = {
		"a.test {\n on 127.0.0.1\n}\na.test {\n on 127.0.0.2\n}\n",
		"a.test:53 {\n}\na.test:54 {\n}\n",
		"a.test:53 {\n on ::1\n}\na.test:54 {\n}\n",
		"a.test {\n}\nb.test {\n on 127.0.0.1\n}\n",
		"a.test {\n only 1\n}\na.test {\n only 1\n}\na.test {\n}\n",
		"a.test {\n only 1\n on 127.0.0.1\n}\na.test {\n}\n",
		"a.test {\n on 127.0.0.1\n only 1\n}\na.test {\n on 127.0.0.1\n}\n",
		"a.test:0 {\n}\n",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		fake_free(start(rows[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(longest_suffix_wins),
		cmocka_unit_test(root_takes_the_rest),
		cmocka_unit_test(block_without_handlers_refuses),
		cmocka_unit_test(first_view_that_takes_it),
		cmocka_unit_test(ds_goes_to_the_parent),
		cmocka_unit_test(ds_among_views_takes_the_last),
		cmocka_unit_test(opcode_gate),
		cmocka_unit_test(class_gate),
		cmocka_unit_test(listeners_are_apart),
		cmocka_unit_test(refused_corefiles),
		cmocka_unit_test(accepted_corefiles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
