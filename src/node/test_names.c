/* SPDX-License-Identifier: GPL-3.0-or-later */
/* EF-15: names that rules stop to use: when their addresses go, what is reported, and names that come again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/egress/unused.h"
#include "base/compiler.h"
#include "node/firewall.h"
#include "node/names.h"

#define BEGIN (1000 * NS_PER_S)
#define TIME  "2026-11-17T14:00:00.000000Z,"
#define DNSNAME(name, mark)                                                                 \
	"{\"metadata\":{\"name\":\"" name "\",\"annotations\":{\"" EGRESS_UNUSED_ANNOTATION \
	"\":\"" mark "\"}}}"

static struct addrset_id www, wild, deep;

static int begin(void **state)
{
	www = node_firewall_name_id("www.example", false, false);
	wild = node_firewall_name_id("example", true, false);
	deep = node_firewall_name_id("example", true, true);
	*state = node_names_new();
	return 0;
}

static int end(void **state)
{
	node_names_free(*state);
	return 0;
}

/* Rules with up to two names are in force. */
static bool apply(struct node_names *names, const struct addrset_id *first,
		  const struct addrset_id *second, uint64_t now_ns)
{
	struct nftables_target targets[3] = { { .is_name = false } };
	size_t n = 1;
	if (first != NULL)
		targets[n++] = (struct nftables_target){ .is_name = true, .name = *first };
	if (second != NULL)
		targets[n++] = (struct nftables_target){ .is_name = true, .name = *second };
	struct nftables_rule rule = { .targets = targets, .n_targets = n };
	struct nftables_namespace web = { "web", &rule, 1 };
	return node_names_update(
		names, &(struct nftables_policy){ .namespaces = &web, .n_namespaces = 1 }, now_ns);
}

static const char *released(struct node_names *names, const char *object)
{
	static char text[256];
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	json_t *tree = json_loads(object, 0, NULL);
	assert_non_null(tree);
	const json_t *list[] = { tree };
	strbuf_adds(&out, "");
	node_names_list_released(names, &(struct node_objects){ list, 1 }, &out);
	json_decref(tree);
	assert_true(out.n < sizeof(text));
	memcpy(text, out.s, out.n + 1);
	return text;
}

static bool note_mark(struct node_names *names, const char *object, uint64_t now_ns)
{
	json_t *tree = json_loads(object, 0, NULL);
	assert_non_null(tree);
	bool has_mark = node_names_note_mark(names, tree, now_ns);
	json_decref(tree);
	return has_mark;
}

#define WWW DNSNAME("www.example", TIME "regular")

static void after_the_rules(void **state)
{
	struct node_names *names = *state;
	uint64_t due = BEGIN + NODE_NAMES_GRACE_NS;
	assert_false(apply(names, &www, &wild, BEGIN - 1));
	assert_true(node_names_due(names) == UINT64_MAX);
	assert_string_equal(released(names, WWW), ""); /* a rule uses it */
	assert_false(apply(names, &wild, NULL, BEGIN));
	assert_true(node_names_due(names) == due);
	assert_true(node_names_has_left(names, &www, BEGIN));
	assert_false(node_names_has_left(names, &wild, BEGIN));
	assert_false(apply(names, &wild, NULL, BEGIN + 1)); /* another change makes it no later */
	assert_false(node_names_is_due(names, &www, due - 1));
	assert_true(node_names_is_due(names, &www, due));
	assert_false(node_names_is_due(names, &wild, due));
	assert_string_equal(released(names, WWW), ""); /* its addresses are there */
	node_names_removed(names, due - 1);
	assert_string_equal(released(names, WWW), "");
	node_names_removed(names, due);
	assert_string_equal(released(names, WWW), "www.example " TIME "regular\n");
	assert_true(node_names_due(names) == UINT64_MAX);
	/* What is still reported for it is not added. */
	assert_true(node_names_has_left(names, &www, due));
	/* The rule comes again. */
	assert_true(apply(names, &www, NULL, due + 1));
	assert_false(node_names_has_left(names, &www, due + 1));
	assert_string_equal(released(names, WWW), "");
}

/* A firewall that is deleted and made again loses nothing. */
static void back_in_time(void **state)
{
	struct node_names *names = *state;
	apply(names, &www, NULL, BEGIN);
	apply(names, NULL, NULL, BEGIN + 1);
	assert_false(apply(names, &www, NULL, BEGIN + 2));
	assert_true(node_names_due(names) == UINT64_MAX);
	assert_false(node_names_is_due(names, &www, BEGIN + 10 * NODE_NAMES_GRACE_NS));
}

/* Addresses are removed in many steps: a rule that uses the name again meanwhile counts as one that comes after the end. */
static void back_during_the_removal(void **state)
{
	struct node_names *names = *state;
	uint64_t due = BEGIN + NODE_NAMES_GRACE_NS;
	apply(names, &www, &wild, BEGIN - 1);
	apply(names, NULL, NULL, BEGIN);
	node_names_begin_removal(names, due);
	assert_true(apply(names, &www, NULL, due + 1));
	assert_false(
		apply(names, NULL, NULL, due + 2)); /* it goes again, which is another removal */
	assert_false(node_names_is_due(names, &www, due));
	assert_true(node_names_is_due(names, &wild, due));
	assert_string_equal(released(names, DNSNAME("wildcard.example", TIME "wildcard")), "");
	node_names_removed(names, due);
	assert_string_not_equal(released(names, DNSNAME("wildcard.example", TIME "wildcard")), "");
	assert_string_equal(released(names, WWW), "");
	assert_true(node_names_due(names) == due + 2 + NODE_NAMES_GRACE_NS);
	/* The removal has ended. */
	assert_false(apply(names, &www, NULL, due + 3));
}

/* Rules went while no agent ran; and a server may know of a rule before this node does. */
static void after_a_start(void **state)
{
	struct node_names *names = *state;
	node_names_found(names, &www);
	node_names_found(names, &wild);
	assert_string_equal(released(names, WWW), "");
	assert_false(apply(names, &wild, NULL, BEGIN));
	assert_true(node_names_is_due(names, &www, BEGIN + NODE_NAMES_GRACE_NS));
	assert_false(node_names_is_due(names, &wild, BEGIN + NODE_NAMES_GRACE_NS));
	assert_false(node_names_is_due(names, &deep, BEGIN + NODE_NAMES_GRACE_NS));
	assert_false(node_names_has_left(names, &deep, BEGIN));
}

/* Addresses of a marked object may have been added before any rule or mark was known: they are removed before it is
 * reported as released. */
static void marked_and_never_used(void **state)
{
	struct node_names *names = *state;
	uint64_t due = BEGIN + NODE_NAMES_GRACE_NS;
	assert_true(note_mark(names, WWW, BEGIN - 2));
	assert_false(node_names_has_left(names, &www, BEGIN - 1)); /* rules are not known yet */
	assert_string_equal(released(names, WWW), "");
	assert_false(apply(names, NULL, NULL, BEGIN));
	assert_true(node_names_has_left(names, &www, BEGIN));
	assert_true(node_names_is_due(names, &www, due));
	assert_string_equal(released(names, WWW), "");
	node_names_removed(names, due);
	assert_string_not_equal(released(names, WWW), "");
	/* Later on nothing is added from the mark on; a rule that comes gets what was not. */
	assert_true(note_mark(names, DNSNAME("wildcard.example", TIME "any-depth"), BEGIN));
	assert_false(node_names_has_left(names, &wild, BEGIN));
	assert_true(node_names_due(names) == due);
	assert_true(node_names_has_left(names, &deep, BEGIN));
	assert_true(apply(names, &deep, NULL, BEGIN + 1));
	/* Marks of names that rules use, and what is none, change nothing. */
	assert_true(note_mark(names, DNSNAME("wildcard.example", TIME "any-depth"), BEGIN + 2));
	assert_false(node_names_has_left(names, &deep, BEGIN + 2));
	assert_true(note_mark(names, DNSNAME("other.example", "odd"), BEGIN));
	assert_false(note_mark(names, "{\"metadata\":{\"name\":\"other.example\"}}", BEGIN));
	assert_true(node_names_due(names) == UINT64_MAX);
	/* A mark that stays is not forgotten, which would make it one that was not seen yet. */
	for (uint64_t now = BEGIN; now < BEGIN + 600 * NS_PER_S; now += 40 * NS_PER_S) {
		note_mark(names, WWW, now);
		apply(names, &deep, NULL, now);
		assert_string_not_equal(released(names, WWW), "");
	}
}

/* Which of the names of an object matter, by its mark. */
static void uses_of_an_object(void **state)
{
	static const struct {
		const char *object;
		bool is_released;
	} rows[] = {
		{ DNSNAME("wildcard.example", TIME "regular"), true },
		{ DNSNAME("wildcard.example", TIME "wildcard"), false },
		{ DNSNAME("wildcard.example", TIME "any-depth"), false },
		{ DNSNAME("wildcard.other", TIME "wildcard,any-depth"), true },
		{ DNSNAME("www.example", TIME "wildcard"), true }, /* it stands for none */
		{ DNSNAME("other.example", TIME "regular"), true },
		{ DNSNAME("other.example", "odd"), false },
		{ "{\"metadata\":{\"name\":\"other.example\"}}", false },
	};
	struct node_names *names = *state;
	apply(names, &www, &deep, BEGIN);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(released(names, rows[i].object)[0] != '\0', rows[i].is_released);
	apply(names, &www, &wild, BEGIN);
	assert_string_equal(released(names, DNSNAME("wildcard.example", TIME "any-depth")), "");
	node_names_removed(names, BEGIN + NODE_NAMES_GRACE_NS);
	assert_string_not_equal(released(names, DNSNAME("wildcard.example", TIME "any-depth")), "");
	assert_string_equal(released(names, DNSNAME("wildcard.example", TIME "wildcard")), "");
}

/* Names that left long ago are forgotten; not while objects report addresses for them. */
static void not_for_ever(void **state)
{
	struct node_names *names = *state;
	uint64_t now = BEGIN;
	apply(names, &www, &wild, now);
	apply(names, NULL, NULL, now);
	node_names_removed(names, now + NODE_NAMES_GRACE_NS);
	for (int i = 0; i < 20; i++) {
		now += 60 * NS_PER_S;
		assert_true(node_names_has_left(names, &www, now));
		apply(names, NULL, NULL, now);
	}
	assert_false(node_names_has_left(names, &wild, now));
	apply(names, NULL, NULL, now + 301 * NS_PER_S);
	assert_false(node_names_has_left(names, &www, now + 301 * NS_PER_S));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(after_the_rules), TEST(back_in_time),	    TEST(back_during_the_removal),
		TEST(after_a_start),   TEST(marked_and_never_used), TEST(uses_of_an_object),
		TEST(not_for_ever),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
