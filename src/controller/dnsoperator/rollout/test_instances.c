/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which servers are queried when, and what is reported of them: OP-T17, OP-34. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "controller/dnsoperator/rollout/instances.h"

#define NEW	"1111111111111111111111111111111111111111111111111111111111111111"
#define OLD	"0000000000000000000000000000000000000000000000000000000000000000"
#define LATE_NS (10 * NS_PER_S)

enum { MANY = 150 };

struct scene {
	struct dnsoperator_instances roll;
	struct arena arena;
	uint64_t now;
	size_t which[MANY];
	size_t n_which;
};

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	assert_non_null(s);
	arena_init(&s->arena);
	s->now = 1000 * NS_PER_S;
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;
	dnsoperator_instances_done(&s->roll);
	arena_done(&s->arena);
	free(s);
	return 0;
}

/* Servers of these names, at 192.0.2.N by the number of each letter. */
static bool take(struct scene *s, const char *names)
{
	char text[8][2];
	struct dnsoperator_server_at v[8];
	size_t n = strlen(names);
	assert_true(n <= ARRAY_LEN(v));
	for (size_t i = 0; i < n; i++) {
		char ip[32];
		snprintf(text[i], sizeof(text[i]), "%c", names[i]);
		snprintf(ip, sizeof(ip), "192.0.2.%d", names[i] - 'a' + 1);
		v[i].name = text[i];
		assert_int_equal(net_addr_parse_ip(slice_of(ip), &v[i].addr), 0);
		net_addr_set_port(&v[i].addr, 53);
	}
	return dnsoperator_instances_set_list(&s->roll, v, n);
}

/* The names of those whose turn it is. */
static const char *due(struct scene *s)
{
	struct strbuf out = STRBUF_INIT;
	s->n_which = dnsoperator_instances_due(&s->roll, s->now, s->which, MANY);
	for (size_t i = 0; i < s->n_which; i++)
		strbuf_adds(&out, s->roll.servers.v[s->which[i]].name);
	const char *text = arena_strdup(&s->arena, out.s != NULL ? out.s : "");
	strbuf_done(&out);
	return text;
}

/* One letter for each that was asked: n(ew), o(ld), no hash (-), fails (f), silent (.) */
static bool answer(struct scene *s, const char *what)
{
	struct dnsoperator_marker_answer said[8] = { 0 };
	assert_int_equal(strlen(what), s->n_which);
	for (size_t i = 0; i < s->n_which; i++) {
		said[i].kind = what[i] == '.'	? DNSOPERATOR_MARKER_UNREACHABLE
			       : what[i] == 'f' ? DNSOPERATOR_MARKER_FAILED
			       : what[i] == '-' ? DNSOPERATOR_MARKER_MISSING
						: DNSOPERATOR_MARKER_FOUND;
		if (said[i].kind == DNSOPERATOR_MARKER_FOUND)
			memcpy(said[i].hash, what[i] == 'n' ? NEW : OLD, sizeof(NEW));
	}
	return dnsoperator_instances_note_answers(&s->roll, s->which, said, s->n_which, s->now);
}

static bool want(struct scene *s, const char *hash)
{
	return dnsoperator_instances_want(&s->roll, hash, LATE_NS, 0, s->now);
}

static uint64_t again(const struct scene *s)
{
	return dnsoperator_instances_next_ns(&s->roll, s->now);
}

/* "a=n b=. late": what the conditions are made of; NULL: not all is known. */
static const char *view(struct scene *s)
{
	struct dnsoperator_answers all;
	struct strbuf out = STRBUF_INIT;
	if (!dnsoperator_instances_view(&s->roll, s->now, &s->arena, &all))
		return NULL;
	for (size_t i = 0; i < all.n; i++)
		strbuf_addf(&out, "%s=%c ", all.v[i].name,
			    !all.v[i].reached		      ? '.'
			    : strcmp(all.v[i].hash, NEW) == 0 ? 'n'
			    : strcmp(all.v[i].hash, OLD) == 0 ? 'o'
							      : '-');
	strbuf_adds(&out, all.late ? "late" : "early");
	const char *text = arena_strdup(&s->arena, out.s);
	strbuf_done(&out);
	return text;
}

static void asks_until_all_run_it(void **state)
{
	struct scene *s = *state;
	assert_null(view(s));
	assert_string_equal(due(s), "");
	assert_true(want(s, NEW));
	assert_false(want(s, NEW));
	assert_false(take(s, "cab"));
	assert_null(view(s));
	assert_string_equal(due(s), "abc");
	assert_true(answer(s, "noo"));
	assert_string_equal(view(s), "a=n b=o c=o early");
	assert_int_equal(again(s), 100 * NS_PER_MS);
	/* too early, and then only those that do not run it */
	assert_string_equal(due(s), "");
	assert_false(answer(s, ""));
	s->now += 100 * NS_PER_MS;
	assert_string_equal(due(s), "bc");
	assert_false(answer(s, "oo"));
	assert_int_equal(again(s), 200 * NS_PER_MS);
	s->now += 200 * NS_PER_MS;
	assert_string_equal(due(s), "bc");
	assert_true(answer(s, "nn"));
	assert_string_equal(view(s), "a=n b=n c=n early");
	/* all of them seldom, to see one that came back with an old text */
	assert_int_equal(again(s), 60 * NS_PER_S - 300 * NS_PER_MS);
	s->now += again(s);
	assert_string_equal(due(s), "abc");
	assert_true(answer(s, "non"));
	assert_int_equal(again(s), 100 * NS_PER_MS);
}

/* The time that a silent server costs is not added to the pause: another one that came back in the
 * meantime would wait for both. */
static void pauses_count_from_the_begin(void **state)
{
	struct scene *s = *state;
	want(s, NEW);
	take(s, "ab");
	for (int i = 0; i < 20; i++) {
		assert_string_equal(due(s), "ab");
		s->now += 1500 * NS_PER_MS;
		answer(s, "o.");
		assert_true(again(s) <= 100 * NS_PER_MS);
		s->now += again(s);
	}
}

/* Asks a and b, of which b is silent, for a few minutes; the longest pause. */
static uint64_t longest_pause(struct scene *s)
{
	uint64_t longest = 0;
	want(s, NEW);
	take(s, "ab");
	for (int i = 0; i < 200; i++) {
		due(s);
		if (s->n_which == 2)
			answer(s, "n.");
		else
			answer(s, s->n_which == 1 ? "." : "");
		uint64_t next = again(s);
		assert_true(next != 0);
		longest = next > longest ? next : longest;
		s->now += next;
	}
	return longest;
}

/* However long a server was away, it is asked soon after it came back; through the API server,
 * where a question costs more, later. */
static void waits_longer_and_longer(void **state)
{
	struct scene *s = *state;
	assert_int_equal(longest_pause(s), NS_PER_S / 2);
	want(s, NULL);
	take(s, "");
	s->roll.by_proxy = true;
	assert_int_equal(longest_pause(s), 15 * NS_PER_S);
	s->roll.by_proxy = false;
	/* a new Corefile is polled for at once, whichever server was silent */
	want(s, OLD);
	assert_int_equal(again(s), NS_PER_MS);
	assert_string_equal(due(s), "ab");
	answer(s, "..");
	assert_int_equal(again(s), 100 * NS_PER_MS);
}

static void is_late_once(void **state)
{
	struct scene *s = *state;
	want(s, NEW);
	take(s, "ab");
	due(s);
	assert_true(answer(s, "no"));
	unsigned told = 0;
	uint64_t start = s->now;
	for (int i = 0; i < 30; i++) {
		s->now += again(s);
		due(s);
		bool changed = answer(s, s->n_which == 1 ? "o" : s->n_which == 2 ? "no" : "");
		assert_int_equal(changed, told == 0 && s->now >= start + LATE_NS);
		told += changed;
	}
	assert_int_equal(told, 1);
	assert_string_equal(view(s), "a=n b=o late");
	/* OP-34: recovers by itself */
	s->now += 60 * NS_PER_S;
	assert_string_equal(due(s), "ab");
	assert_true(answer(s, "nn"));
}

/* Without templates: a server that is silent may still have them, and is asked until it answers. */
static void silence_is_never_settled(void **state)
{
	struct scene *s = *state;
	want(s, OLD);
	take(s, "abc");
	due(s);
	answer(s, "oo.");
	assert_null(view(s));
	assert_true(want(s, ""));
	assert_string_equal(due(s), "abc");
	assert_true(answer(s, "-o."));
	assert_null(view(s));
	for (int i = 0; i < 3; i++) {
		s->now += again(s);
		assert_string_equal(due(s), "bc");
		answer(s, "..");
	}
	assert_string_equal(view(s), "a=- b=. c=. early");
	s->now += again(s);
	assert_string_equal(due(s), "bc");
	assert_true(answer(s, "--"));
	assert_string_equal(view(s), "a=- b=- c=- early");
	/* one may come back with a text of before */
	s->now += again(s);
	assert_string_equal(due(s), "abc");
	assert_true(answer(s, "-o-"));
	assert_string_equal(view(s), "a=- b=o c=- late");
	/* the object is gone */
	assert_true(want(s, NULL));
	assert_false(want(s, NULL));
	assert_int_equal(again(s), 0);
	assert_string_equal(due(s), "");
}

/* There and back again: what a server answered before it was sent elsewhere proves nothing. */
static void old_answers_prove_nothing(void **state)
{
	struct scene *s = *state;
	want(s, NEW);
	take(s, "ab");
	due(s);
	answer(s, "nn");
	assert_string_equal(view(s), "a=n b=n early");
	want(s, OLD);
	want(s, NEW);
	assert_string_equal(view(s), "a=- b=- early");
	assert_string_equal(due(s), "ab");
	assert_true(answer(s, "n."));
	assert_string_equal(view(s), "a=n b=- early");
	s->now += again(s);
	assert_string_equal(due(s), "b");
	assert_true(answer(s, "n"));
	assert_string_equal(view(s), "a=n b=n early");
}

/* A server that fails does not run what is wanted, and may still have what is not. */
static void failing_shows_nothing(void **state)
{
	struct scene *s = *state;
	want(s, NEW);
	take(s, "a");
	due(s);
	assert_true(answer(s, "f"));
	assert_string_equal(view(s), "a=- early");
	assert_string_not_equal(s->roll.servers.v[0].hash, "");
	want(s, "");
	for (int i = 0; i < 3; i++) {
		assert_string_equal(due(s), "a");
		answer(s, "f");
		s->now += again(s);
	}
	assert_string_equal(view(s), "a=. early");
}

/* What some answered is known while others are still silent. */
static void hears_some_before_all(void **state)
{
	struct scene *s = *state;
	struct dnsoperator_marker_answer said[2] = { { .kind = DNSOPERATOR_MARKER_FOUND,
						       .hash = NEW },
						     { .kind = DNSOPERATOR_MARKER_PENDING } };
	want(s, NEW);
	take(s, "ab");
	due(s);
	assert_true(answer(s, "oo"));
	s->now += again(s);
	assert_string_equal(due(s), "ab");
	assert_true(dnsoperator_instances_note_early(&s->roll, s->which, said, 2));
	assert_false(dnsoperator_instances_note_early(&s->roll, s->which, said, 2));
	assert_string_equal(view(s), "a=n b=o early");
	assert_false(answer(s, "n."));
	assert_string_equal(view(s), "a=n b=o early");
}

/* Another writer changed the ConfigMap for a while: servers that run the right Corefile are polled
 * repeatedly, until none can still load the other one. */
static void doubt(void **state)
{
	struct scene *s = *state;
	assert_false(dnsoperator_instances_recheck(&s->roll, s->now));
	want(s, NEW);
	take(s, "ab");
	due(s);
	answer(s, "nn");
	s->now += 5 * NS_PER_S;
	assert_string_equal(due(s), "");
	uint64_t end = s->now + LATE_NS;
	assert_true(dnsoperator_instances_recheck(&s->roll, s->now));
	unsigned rounds = 0;
	for (; s->now < end; rounds++) {
		assert_string_equal(due(s), "ab");
		assert_int_equal(answer(s, rounds == 3 ? "no" : "nn"), rounds == 3 || rounds == 4);
		assert_true(again(s) <= NS_PER_S);
		s->now += again(s);
	}
	assert_true(rounds >= 10);
	due(s);
	answer(s, s->n_which == 2 ? "nn" : "");
	assert_true(again(s) > 30 * NS_PER_S);
	assert_string_equal(view(s), "a=n b=n late");
}

/* The advice about a silent server is reported when it changes. */
static void silence_has_a_reason(void **state)
{
	static const char first[] = "One.", second[] = "Two.";
	struct scene *s = *state;
	struct dnsoperator_marker_answer said = { .kind = DNSOPERATOR_MARKER_UNREACHABLE,
						  .why = first };
	struct dnsoperator_answers all;
	want(s, "");
	take(s, "a");
	for (int i = 0; i < 3; i++) {
		assert_null(view(s));
		assert_string_equal(due(s), "a");
		dnsoperator_instances_note_answers(&s->roll, s->which, &said, 1, s->now);
		s->now += again(s);
	}
	assert_string_equal(view(s), "a=. early");
	assert_true(dnsoperator_instances_view(&s->roll, s->now, &s->arena, &all));
	assert_ptr_equal(all.v[0].why, first);
	assert_string_equal(due(s), "a");
	assert_false(dnsoperator_instances_note_answers(&s->roll, s->which, &said, 1, s->now));
	said.why = second;
	s->now += again(s);
	assert_string_equal(due(s), "a");
	assert_true(dnsoperator_instances_note_answers(&s->roll, s->which, &said, 1, s->now));
	said = (struct dnsoperator_marker_answer){ .kind = DNSOPERATOR_MARKER_FOUND };
	s->now += again(s);
	assert_string_equal(due(s), "a");
	assert_true(dnsoperator_instances_note_answers(&s->roll, s->which, &said, 1, s->now));
	assert_string_equal(view(s), "a=- early");
}

/* The first answers after a new Corefile are reported even if they equal the previous ones: they
 * mean something else now. */
static void first_word_is_told(void **state)
{
	struct scene *s = *state;
	want(s, NEW);
	take(s, "a");
	due(s);
	assert_true(answer(s, "o"));
	want(s, "");
	due(s);
	assert_true(answer(s, "o"));
	s->now += again(s);
	due(s);
	assert_false(answer(s, "o"));
}

/* Silence counts when it lasts, and is nothing new after that. */
static void silence_counts_when_it_lasts(void **state)
{
	struct scene *s = *state;
	want(s, NEW);
	take(s, "ab");
	for (int i = 1; i <= 6; i++) {
		due(s);
		assert_int_equal(answer(s, i == 1 ? "n." : "."), i == 1 || i == 3);
		if (i < 3)
			assert_null(view(s));
		else
			assert_string_equal(view(s), "a=n b=. early");
		s->now += again(s);
	}
	due(s);
	assert_true(answer(s, "n"));
	/* one lost answer of a server that runs it: asked again soon, and forgotten */
	s->now += again(s);
	assert_string_equal(due(s), "ab");
	answer(s, "n.");
	assert_string_equal(view(s), "a=n b=n late");
	assert_int_equal(again(s), 100 * NS_PER_MS);
	s->now += again(s);
	assert_string_equal(due(s), "b");
	assert_false(answer(s, "n"));
	/* a new text: one that was silent is still taken for silent */
	for (int i = 0; i < 3; i++) {
		s->now += 60 * NS_PER_S;
		due(s);
		answer(s, s->n_which == 2 ? "n." : ".");
	}
	assert_string_equal(view(s), "a=n b=. late");
	want(s, OLD);
	assert_string_equal(view(s), "a=n b=. early");
}

/* A text that has been there for a while when the program starts. */
static void old_text_is_late_at_once(void **state)
{
	struct scene *s = *state;
	dnsoperator_instances_want(&s->roll, NEW, LATE_NS, LATE_NS, s->now);
	take(s, "a");
	due(s);
	assert_true(answer(s, "o"));
	assert_string_equal(view(s), "a=o late");
	/* clocks differ: older than all time */
	dnsoperator_instances_want(&s->roll, OLD, LATE_NS, UINT64_MAX, s->now);
	assert_int_equal(s->roll.since_ns, 0);
}

static void servers_come_and_go(void **state)
{
	struct scene *s = *state;
	want(s, NEW);
	assert_true(take(s, ""));
	assert_string_equal(view(s), "early");
	assert_int_equal(again(s), 0);
	assert_false(take(s, ""));
	assert_false(take(s, "bd"));
	due(s);
	assert_true(answer(s, "nn"));
	/* a new one is polled at once, and has not answered yet */
	assert_false(take(s, "bcd"));
	assert_null(view(s));
	assert_int_equal(again(s), NS_PER_MS);
	assert_string_equal(due(s), "c");
	assert_true(answer(s, "n"));
	assert_true(take(s, "cd"));
	assert_string_equal(view(s), "c=n d=n early");
	/* the same name at another address is another server */
	struct dnsoperator_server_at moved[2] = { { .name = "c" }, { .name = "d" } };
	moved[0].addr = s->roll.servers.v[0].addr;
	moved[1].addr = s->roll.servers.v[1].addr;
	net_addr_set_port(&moved[1].addr, 5353);
	assert_true(dnsoperator_instances_set_list(&s->roll, moved, 2));
	assert_string_equal(due(s), "d");
}

/* More than are asked at a time: each has its turn before any has its second. */
static void turns(void **state)
{
	struct scene *s = *state;
	struct dnsoperator_server_at v[MANY];
	static struct dnsoperator_marker_answer silent[MANY];
	char names[MANY][8];
	unsigned asked[MANY] = { 0 };
	for (size_t i = 0; i < MANY; i++) {
		silent[i].kind = DNSOPERATOR_MARKER_UNREACHABLE;
		snprintf(names[i], sizeof(names[i]), "p%03zu", i);
		v[i].name = names[i];
		assert_int_equal(net_addr_parse(SLICE("192.0.2.1:53"), &v[i].addr), 0);
	}
	want(s, NEW);
	dnsoperator_instances_set_list(&s->roll, v, MANY);
	for (int i = 0; i < 6; i++) {
		size_t n = dnsoperator_instances_due(&s->roll, s->now, s->which, 64);
		assert_int_equal(n, i % 3 == 2 ? MANY - 128 : 64);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(++asked[s->which[k]], i / 3 + 1);
		dnsoperator_instances_note_answers(&s->roll, s->which, silent, n, s->now);
		assert_int_equal(again(s), i % 3 < 2 ? NS_PER_MS : 100 * NS_PER_MS << i / 3);
		s->now += again(s);
	}
}

static void ready_pods(void **state)
{
	(void)state;
	json_t *pods = json_loads(
		"[{\"metadata\": {\"name\": \"a\"}, \"status\": {\"podIP\": \"192.0.2.1\","
		"  \"conditions\": [{\"type\": \"Ready\", \"status\": \"True\"}]}},"
		" {\"metadata\": {\"name\": \"b\"}, \"status\": {\"podIP\": \"192.0.2.2\","
		"  \"conditions\": [{\"type\": \"Ready\", \"status\": \"False\"}]}},"
		" {\"metadata\": {\"name\": \"c\", \"deletionTimestamp\": "
		"\"2026-01-01T00:00:00Z\"},"
		"  \"status\": {\"podIP\": \"192.0.2.3\","
		"  \"conditions\": [{\"type\": \"Ready\", \"status\": \"True\"}]}},"
		" {\"metadata\": {\"name\": \"d\"}, \"status\": {"
		"  \"conditions\": [{\"type\": \"Ready\", \"status\": \"True\"}]}},"
		" {\"metadata\": {\"name\": \"e\"}, \"status\": {\"podIP\": \"x\","
		"  \"conditions\": [{\"type\": \"Ready\", \"status\": \"True\"}]}},"
		" {\"metadata\": {\"name\": \"f\"}, \"status\": {\"podIP\": \"2001:db8::1\","
		"  \"conditions\": [{\"type\": \"Ready\", \"status\": \"True\"}]}},"
		" {\"metadata\": {\"name\": \"g\"}}, 5]",
		0, NULL);
	dnsoperator_servers_at list = { 0 };
	char text[NET_ADDR_TEXT_MAX];
	assert_non_null(pods);
	dnsoperator_ready_pods(pods, 5353, &list);
	assert_int_equal(list.n, 2);
	net_addr_str(&list.v[0].addr, text);
	assert_string_equal(text, "192.0.2.1:5353");
	assert_string_equal(list.v[1].name, "f");
	net_addr_str(&list.v[1].addr, text);
	assert_string_equal(text, "[2001:db8::1]:5353");
	vec_done(&list);
	json_decref(pods);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(asks_until_all_run_it),
		T(pauses_count_from_the_begin),
		T(waits_longer_and_longer),
		T(is_late_once),
		T(silence_is_never_settled),
		T(failing_shows_nothing),
		T(old_answers_prove_nothing),
		T(hears_some_before_all),
		T(doubt),
		T(silence_has_a_reason),
		T(first_word_is_told),
		T(servers_come_and_go),
		T(turns),
		cmocka_unit_test(ready_pods),
		T(silence_counts_when_it_lasts),
		T(old_text_is_late_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
