/* Every value in every place of every kind's object, on every way to write it. The sanitizers find
 * what no assertion can; the assertions are that each answer is one of an API, and that what one
 * way makes is accepted by the plain one: no way leaves out a check. */
#include "apiserver/test_places.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct places_api api;

static unsigned long wrong;

/* All of them are told, not the first: which have something in common is seen then. */
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
	const struct apiserver_resource *r;
	const json_t *base, *path;
	const char *value;
};

static void describe(struct strbuf *out, const struct place_case *c, const struct places_way *way)
{
	strbuf_reset(out);
	strbuf_addf(out, "%s %s ", way->name, c->r->kind->kind);
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
	unsigned status =
		places_write(&api, c->r, plain_way(way), api_name(c->base), made, true, &again);
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
		if (!places_fits(way, c->r) || (c->r->status && way->status != in_status))
			continue;
		describe(&what, c, way);
		unsigned status = places_write(&api, c->r, way, api_name(c->base), o, false, &said);
		check_answer(what.s, status, &said);
		if (status < 300 && c->r->strategy->review == NULL)
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
		for (size_t k = 0; k < ARRAY_LEN(places_values); k++) {
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
	assert_true(count > 30000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_place, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
