/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every value in every place of every kind's object, on every way to write it. The sanitizers find
 * what no assertion can; the assertions are that each answer is one of an API, and that what one
 * way makes is accepted by the plain one: no way leaves out a check. */
#include "apiserver/test_places.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"

/* TSan takes ten times as long, and all here happens on one thread: in its build each place gets
 * every sixteenth value, another first one than the place before. */
#if defined(__SANITIZE_THREAD__)
enum { SHARE = 16 };
#else
enum { SHARE = 1 };
#endif

static struct places_api api;

static unsigned long wrong;

/* All failures are printed, not only the first, to show what they have in common. */
static void PRINTF_LIKE(1, 2) report(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
	strbuf_vaddf(&line, fmt, ap);
	va_end(ap);
	if (wrong++ < 50)
		print_message("%.900s\n\n", line.s);
}

static int start(void **state)
{
	(void)state;
	places_open(&api);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	places_close(&api);
	return 0;
}

static unsigned put_for_real(enum http_method method, const char *path, const json_t *o)
{
	struct apiserver_answer answer;
	CLEANUP(freep) char *text = o != NULL ? json_dumps(o, JSON_COMPACT) : NULL;
	places_ask(&api, method, path, "application/json", slice_of(text), false, false, &answer);
	unsigned status = answer.status;
	apiserver_answer_done(&answer);
	return status;
}

/* Refusals of the server's own mistakes have a reason; its words for some bad requests are a 500
 * without one. */
static void check_answer(const char *what, unsigned status, const struct strbuf *said)
{
	static const unsigned fine[] = { 200, 201, 400, 403, 404, 405, 409, 413, 415, 422, 500 };
	json_t *o = json_loadb(said->s, said->n, 0, NULL);
	bool known = false;
	for (size_t i = 0; i < ARRAY_LEN(fine); i++)
		known |= status == fine[i];
	if (o == NULL || !known || (status == 500 && json_object_get(o, "reason") != NULL))
		report("%s: %u %s", what, status, said->s);
	json_decref(o);
}

struct place_case {
	const struct apiserver_resource *resource;
	const json_t *base, *path;
	const char *value;
};

static void describe(struct strbuf *out, const struct place_case *c, const struct places_way *way)
{
	strbuf_reset(out);
	strbuf_addf(out, "%s %s ", way->name, c->resource->kind->kind);
	places_show(out, c->path);
	strbuf_addf(out, " = %s", c->value);
}

/* The way by which a body is decoded and checked with nothing before. */
static const struct places_way *plain_way(const struct places_way *way)
{
	const char *name = way->makes ? "create" : way->status ? "update status" : "update";
	size_t i = 0;
	while (strcmp(places_ways[i].name, name) != 0)
		i++;
	return &places_ways[i];
}

/* What was made is sent again, as it came back. */
static void send_again(const struct place_case *c, const struct places_way *way, const char *what,
		       const struct strbuf *said)
{
	CLEANUP(strbuf_done) struct strbuf again = STRBUF_INIT;
	json_t *made = json_loadb(said->s, said->n, 0, NULL);
	json_t *meta = json_object_get(made, "metadata");
	if (way->makes) {
		json_object_del(meta, "resourceVersion");
		json_object_del(meta, "uid");
	}
	unsigned status = places_write(&api, c->resource, plain_way(way), api_name(c->base), made,
				       true, &again);
	if (status >= 300)
		report("%s: what was made is refused: %s", what, again.s);
	json_decref(made);
}

static void run_case(const struct place_case *c, size_t value, unsigned long *count)
{
	CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT, what = STRBUF_INIT;
	json_t *o = json_deep_copy(c->base);
	const bool in_status = strcmp(api_text(json_array_get(c->path, 0)), "status") == 0;
	places_put(o, c->path, places_value(value));
	for (size_t i = 0; i < ARRAY_LEN(places_ways); i++) {
		const struct places_way *way = &places_ways[i];
		/* A status is written by ways of its own, and nothing else by those. */
		if (!places_fits(way, c->resource) ||
		    (c->resource->status && way->status != in_status))
			continue;
		describe(&what, c, way);
		unsigned status =
			places_write(&api, c->resource, way, api_name(c->base), o, false, &said);
		check_answer(what.s, status, &said);
		if (status < 300 && c->resource->strategy->review == NULL)
			send_again(c, way, what.s, &said);
		(*count)++;
	}
	json_decref(o);
}

static void run_places(const struct apiserver_resource *r, const json_t *base, unsigned long *count)
{
	json_t *places = places_of(r), *place;
	size_t i;
	json_array_foreach (places, i, place) {
		for (size_t k = i % SHARE; k < ARRAY_LEN(places_values); k += SHARE) {
			const struct place_case c = { r, base, place, places_values[k] };
			run_case(&c, k, count);
		}
	}
	json_decref(places);
}

static void run_kind(const struct apiserver_resource *r, unsigned long *count)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	json_t *base = places_base(SOURCE_DIR, r);
	/* Definitions are there; they can be written, but not made. */
	const bool fixed = strcmp(r->kind->kind, "CustomResourceDefinition") == 0;
	places_path(&path, r);
	if (base == NULL) {
		if ((r->verbs & APISERVER_CREATE) != 0)
			fail_msg("there is no object of %s %s", r->kind->kind, r->version);
		return;
	}
	unsigned made = put_for_real(HTTP_POST, path.s, base);
	if (made != (fixed ? 409 : 201) && r == r->stored)
		fail_msg("%s is not made: %u", path.s, made);
	if (made == 201 || fixed)
		run_places(r, base, count);
	strbuf_addf(&path, "/%s", api_name(base));
	if (made == 201 && (r->verbs & APISERVER_DELETE) != 0)
		assert_in_range(put_for_real(HTTP_DELETE, path.s, NULL), 200, 202);
	json_decref(base);
}

static void every_place(void **state)
{
	size_t n;
	unsigned long count = 0;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	(void)state;
	for (size_t i = 0; i < n; i++)
		run_kind(rows[i], &count);
	print_message("%lu writes, %lu wrong\n", count, wrong);
	assert_int_equal(wrong, 0);
	assert_true(count > 30000 / SHARE);
}

/* ---- long lists ---- */

/* An item of a list: the fields that identify items differ in each. */
static json_t *long_item(const json_t *schema, int i)
{
	char text[32];
	json_t *members = json_object_get(schema, "properties"), *member, *o;
	const char *key;
	snprintf(text, sizeof(text), "a%d", i);
	if (members == NULL)
		return strcmp(api_get_string(schema, "type"), "integer") == 0 ? json_integer(i)
									      : json_string(text);
	o = json_object();
	json_object_foreach (members, key, member) {
		const char *type = api_get_string(member, "type");
		if (strcmp(type, "string") == 0 && json_object_get(member, "format") == NULL)
			json_object_set_new(o, key, json_string(text));
		else if (strcmp(type, "integer") == 0)
			json_object_set_new(o, key, json_integer(i + 1));
		else if (strcmp(type, "boolean") == 0)
			json_object_set_new(o, key, json_boolean(i == 0));
	}
	return o;
}

static const json_t *schema_at(const json_t *schema, const json_t *path)
{
	for (size_t i = 0; i < json_array_size(path); i++) {
		const json_t *step = json_array_get(path, i), *all = schema;
		schema = json_is_string(step) ? json_object_get(json_object_get(all, "properties"),
								api_text(step))
					      : json_object_get(all, "items");
		if (schema == NULL)
			schema = json_object_get(all, "additionalProperties");
	}
	return schema;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* What a new object costs whose list has so many items. */
static uint64_t cost_of_list(const struct apiserver_resource *r, const json_t *base,
			     const json_t *place, int n)
{
	const json_t *items = json_object_get(schema_at(r->openapi, place), "items");
	json_t *o = json_deep_copy(base), *list = json_array();
	json_object_set_new(json_object_get(o, "metadata"), "name", json_string("long"));
	for (int i = 0; i < n; i++)
		json_array_append_new(list, long_item(items, i));
	places_put(o, place, list);
	uint64_t before = cpu_ns();
	places_write(&api, r, &places_ways[0], "long", o, false, NULL);
	uint64_t took = cpu_ns() - before;
	json_decref(o);
	return took;
}

/* Four times the items are four times the work; sixteen times is a loop in a loop. */
static void check_list_cost(const struct apiserver_resource *r, const json_t *base,
			    const json_t *place)
{
	enum { FEW = 500, MANY = 4 * FEW, FLOOR_MS = 20, TRIES = 3 };
	CLEANUP(strbuf_done) struct strbuf what = STRBUF_INIT;
	uint64_t few = UINT64_MAX, many = UINT64_MAX;
	for (int i = 0; i < TRIES; i++) { /* the smallest is the one that nothing disturbed */
		many = MIN(many, cost_of_list(r, base, place, MANY));
		if (many < FLOOR_MS * NS_PER_MS)
			return;
		few = MIN(few, cost_of_list(r, base, place, FEW));
		if (many < 8 * few)
			return;
	}
	places_show(&what, place);
	report("%s %s: %d items take %llu us, %d take %llu us", r->kind->kind, what.s, FEW,
	       (unsigned long long)(few / 1000), MANY, (unsigned long long)(many / 1000));
}

static void long_lists(void **state)
{
	size_t n, k;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	(void)state;
	for (size_t i = 0; i < n; i++) {
		json_t *base = places_base(SOURCE_DIR, rows[i]), *places = places_of(rows[i]);
		json_t *place;
		json_array_foreach (places, k, place) {
			const json_t *schema = schema_at(rows[i]->openapi, place);
			if (base != NULL && rows[i]->strategy->review == NULL &&
			    json_object_get(schema, "items") != NULL)
				check_list_cost(rows[i], base, place);
		}
		json_decref(base);
		json_decref(places);
	}
	assert_int_equal(wrong, 0);
}

/* As many as a body holds. */
static void many_owners(void **state)
{
	enum { OWNERS = 20000 };
	const struct apiserver_resource *r = apiserver_resource_find("", "v1", "configmaps");
	json_t *base = places_base(SOURCE_DIR, r);
	json_t *place = json_pack("[ss]", "metadata", "ownerReferences");
	(void)state;
	uint64_t took = cost_of_list(r, base, place, OWNERS);
	print_message("%d owners: %llu ms\n", OWNERS, (unsigned long long)(took / NS_PER_MS));
	assert_true(took < 10 * NS_PER_S); /* with sanitizers; the square was 16 s without */
	json_decref(base);
	json_decref(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_place, start, stop),
		cmocka_unit_test_setup_teardown(long_lists, start, stop),
		cmocka_unit_test_setup_teardown(many_owners, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
