/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams that the filler produces: long lists, watches with a large state, watches that start far
 * back or skip many changes. A stream buffers one piece, and the pulling thread never produces
 * it. */
#include "apiserver/request/stream.h"
#include "apiserver/store/compact_test.h"
#include "apiserver/store/store.h"

#include <pthread.h>

#include "apiserver/test_api.h"
#include "http/service.h"

#define CMS "/api/v1/namespaces/default/configmaps"

enum { MANY = 2400, MAKERS = 16, VALUE_BYTES = 500, PULL_BYTES = 10000 };

static void make(struct fixture *f, int i, const char *labels)
{
	char value[VALUE_BYTES + 1];
	memset(value, 'x', VALUE_BYTES);
	value[VALUE_BYTES] = '\0';
	CLEANUP(freep)
	char *body = xasprintf("{\"metadata\":{\"name\":\"n%05d\",\"labels\":{%s}},\"data\":{"
			       "\"t\":\"%s\"}}",
			       i, labels, value);
	does(f, 201, "POST " CMS, body);
}

struct maker {
	struct fixture *f;
	int first;
	const char *labels;
	pthread_t thread;
};

static void *make_some(void *ctx)
{
	const struct maker *m = ctx;
	for (int i = m->first; i < MANY; i += MAKERS)
		make(m->f, i, i % 3 == 0 ? m->labels : "");
	return NULL;
}

/* Together, so that they share the disk's time. */
static void make_many(struct fixture *f, const char *labels)
{
	struct maker m[MAKERS];
	for (int i = 0; i < MAKERS; i++) {
		m[i] = (struct maker){ .f = f, .first = i, .labels = labels };
		assert_int_equal(pthread_create(&m[i].thread, NULL, make_some, &m[i]), 0);
	}
	for (int i = 0; i < MAKERS; i++)
		pthread_join(m[i].thread, NULL);
}

/* ---- pulling as the HTTP server does ---- */

struct taker {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool woken;
	size_t longest; /* what the stream held at most */
	struct strbuf text;
	ssize_t end; /* what the last pull said */
};

static void wake(void *ctx)
{
	struct taker *t = ctx;
	pthread_mutex_lock(&t->lock);
	t->woken = true;
	pthread_cond_signal(&t->cond);
	pthread_mutex_unlock(&t->lock);
}

static void taker_init(struct taker *t, struct apiserver_stream *s)
{
	*t = (struct taker){ PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, .end = 1 };
	strbuf_init(&t->text);
	apiserver_stream_on_wake(s, wake, t);
}

static void wait_woken(struct taker *t)
{
	pthread_mutex_lock(&t->lock);
	while (!t->woken)
		pthread_cond_wait(&t->cond, &t->lock);
	t->woken = false;
	pthread_mutex_unlock(&t->lock);
}

/* Pulls until the stream ends or has sent `word`. */
static void take(struct taker *t, struct apiserver_stream *s, const char *word)
{
	char buf[PULL_BYTES];
	while (word == NULL || strstr(t->text.s, word) == NULL) {
		t->end = apiserver_stream_pull(s, buf, sizeof(buf));
		if (t->end < 0)
			return;
		if (t->end == 0) {
			wait_woken(t);
			continue;
		}
		strbuf_add(&t->text, buf, (size_t)t->end);
		if (!atomic_load(&s->filling))
			t->longest = MAX(t->longest, s->out.n);
	}
}

static size_t count(const char *text, const char *word)
{
	size_t n = 0;
	for (const char *p = text; (p = strstr(p, word)) != NULL; p++)
		n++;
	return n;
}

/* ---- lists ---- */

/* The beginning that comes with the answer, then the stream. */
static json_t *whole_list(struct fixture *f, const char *target, size_t *ret_longest)
{
	struct asked a;
	struct taker t;
	ask_as(f, target, NULL, NULL, &a);
	assert_int_equal(a.answer.status, 200);
	assert_non_null(a.answer.stream);
	assert_null(a.o); /* not all of it */
	taker_init(&t, a.answer.stream);
	strbuf_add_slice(&t.text, strbuf_slice(&a.answer.body));
	take(&t, a.answer.stream, NULL);
	assert_int_equal(t.end, HTTP_STREAM_END);
	json_t *o = json_loadb(t.text.s, t.text.n, 0, NULL);
	assert_non_null(o);
	if (ret_longest != NULL)
		*ret_longest = t.longest;
	strbuf_done(&t.text);
	asked_done(&a);
	return o;
}

static void list_in_pieces(void **state)
{
	struct fixture *f = *state;
	size_t longest = 0;
	make_many(f, "\"x\":\"1\"");
	json_t *o = whole_list(f, "GET " CMS, &longest);
	const json_t *items = json_object_get(o, "items");
	assert_text(o, "kind", "ConfigMapList");
	assert_int_equal(json_array_size(items), MANY);
	for (int i = 0; i < MANY; i++) {
		char name[16];
		snprintf(name, sizeof(name), "n%05d", i);
		assert_text(json_array_get(items, (size_t)i), "metadata.name", name);
	}
	assert_true(longest < APISERVER_PIECE_BYTES + 2 * VALUE_BYTES);
	json_decref(o);
	o = whole_list(f, "GET " CMS "?labelSelector=x=1", NULL);
	assert_int_equal(json_array_size(json_object_get(o, "items")), MANY / 3);
	json_decref(o);
	/* Nothing in the beginning, or nowhere. */
	make(f, MANY, "\"late\":\"1\"");
	o = whole_list(f, "GET " CMS "?labelSelector=late=1", NULL);
	assert_int_equal(json_array_size(json_object_get(o, "items")), 1);
	json_decref(o);
	o = whole_list(f, "GET " CMS "?labelSelector=never=1", NULL);
	assert_int_equal(json_array_size(json_object_get(o, "items")), 0);
	json_decref(o);
}

/* What is written while a list is on its way is not in it. */
static void list_at_one_revision(void **state)
{
	struct fixture *f = *state;
	struct asked a;
	struct taker t;
	make_many(f, "");
	ask_as(f, "GET " CMS, NULL, NULL, &a);
	taker_init(&t, a.answer.stream);
	make(f, MANY, "");
	does(f, 200, "DELETE " CMS "/n02399", NULL);
	take(&t, a.answer.stream, NULL);
	assert_non_null(strstr(t.text.s, "\"n02399\""));
	assert_null(strstr(t.text.s, "\"n02400\""));
	strbuf_done(&t.text);
	asked_done(&a);
}

/* A client so slow that its revision is forgotten sees that this was not all. */
static void list_too_slow(void **state)
{
	struct fixture *f = *state;
	struct asked a;
	struct taker t;
	make_many(f, "");
	ask_as(f, "GET " CMS, NULL, NULL, &a);
	taker_init(&t, a.answer.stream);
	make(f, MANY, "");
	assert_int_equal(apiserver_store_compact(f->s, UINT64_MAX), 0);
	take(&t, a.answer.stream, NULL);
	assert_int_equal(t.end, HTTP_STREAM_BROKEN);
	strbuf_done(&t.text);
	asked_done(&a);
}

/* Freed with pieces outstanding: by clients that go. */
static void list_given_up(void **state)
{
	struct fixture *f = *state;
	char buf[PULL_BYTES];
	make_many(f, "");
	for (int i = 0; i < 50; i++) {
		struct asked a;
		ask_as(f, "GET " CMS, NULL, NULL, &a);
		assert_int_equal(apiserver_stream_pull(a.answer.stream, buf, sizeof(buf)), 0);
		asked_done(&a);
	}
}

/* A page ends where it becomes too long, with a token. */
static void long_page(void **state)
{
	struct fixture *f = *state;
	enum { LARGE = 12, LARGE_BYTES = 1 << 20 };
	size_t n = 0, pages = 0;
	CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
	char *value = xmalloc(LARGE_BYTES);
	memset(value, 'x', LARGE_BYTES - 1);
	value[LARGE_BYTES - 1] = '\0';
	for (int i = 0; i < LARGE; i++) {
		CLEANUP(freep)
		char *body = xasprintf("{\"metadata\":{\"name\":\"l%02d\"},\"data\":{\"t\":"
				       "\"%.1000000s\"}}",
				       i, value);
		does(f, 201, "POST " CMS, body);
	}
	free(value);
	do {
		CLEANUP(freep)
		char *target = xasprintf("GET " CMS "?limit=500&continue=%s", token.s);
		json_t *o = ask(f, 200, target, NULL);
		n += json_array_size(json_object_get(o, "items"));
		pages++;
		strbuf_reset(&token);
		strbuf_adds(&token, api_get_string(o, "metadata.continue"));
		json_decref(o);
	} while (token.n != 0);
	assert_true(n >= LARGE);
	assert_int_equal(pages, 2);
	/* Forms that need the whole are refused, though not for a page. */
	json_t *o = ask(f, 406, "GET " CMS "?pretty=true", NULL);
	assert_text(o, "reason", "NotAcceptable");
	json_decref(o);
	does(f, 200, "GET " CMS "?pretty=true&limit=5", NULL);
}

/* ---- watches ---- */

static void state_in_pieces(void **state)
{
	struct fixture *f = *state;
	struct taker t;
	make_many(f, "");
	struct apiserver_stream *s = watch(f, "GET " CMS "?watch=1&sendInitialEvents=true&"
					      "resourceVersionMatch=NotOlderThan&"
					      "allowWatchBookmarks=true");
	taker_init(&t, s);
	take(&t, s, "initial-events-end");
	assert_int_equal(count(t.text.s, "\"ADDED\""), MANY);
	assert_true(t.longest < APISERVER_PIECE_BYTES + 2 * VALUE_BYTES);
	make(f, MANY, "");
	take(&t, s, "\"n02400\"");
	apiserver_stream_free(s);
	strbuf_done(&t.text);
}

/* From far back, and with selectors that want little: nothing of it is done while others wait. */
static void looks_in_vain(void **state)
{
	struct fixture *f = *state;
	struct taker t;
	char buf[PULL_BYTES];
	CLEANUP(freep)
	char *target = xasprintf("GET " CMS "?watch=1&labelSelector=x=1&resourceVersion=%llu",
				 (unsigned long long)apiserver_store_revision(f->s));
	make_many(f, "");
	make(f, MANY, "\"x\":\"1\"");
	struct apiserver_stream *s = watch(f, target);
	taker_init(&t, s);
	assert_int_equal(apiserver_stream_pull(s, buf, sizeof(buf)), 0);
	wait_woken(&t);
	take(&t, s, "\"ADDED\"");
	assert_int_equal(count(t.text.s, "\"type\":"), 1);
	apiserver_stream_free(s);
	strbuf_done(&t.text);
}

/* By name: no other object is read. */
static void one_name(void **state)
{
	struct fixture *f = *state;
	struct taker t;
	for (int i = 0; i < 20; i++)
		make(f, i, "");
	json_t *o = ask(f, 200, "GET " CMS "?fieldSelector=metadata.name=n00001", NULL);
	assert_int_equal(json_array_size(json_object_get(o, "items")), 1);
	json_decref(o);
	/* One that others begin with. */
	o = ask(f, 200, "GET " CMS "?fieldSelector=metadata.name=n0000", NULL);
	assert_int_equal(json_array_size(json_object_get(o, "items")), 0);
	json_decref(o);
	CLEANUP(freep) char *name = xmalloc(3000);
	memset(name, 'n', 2999);
	name[2999] = '\0';
	CLEANUP(freep) char *target = xasprintf("GET " CMS "?fieldSelector=metadata.name=%s", name);
	does(f, 200, target, NULL);
	struct apiserver_stream *s =
		watch(f, "GET " CMS "?watch=1&fieldSelector=metadata.name=n00001");
	taker_init(&t, s);
	does(f, 200, "DELETE " CMS "/n00010", NULL);
	does(f, 200, "DELETE " CMS "/n00001", NULL);
	take(&t, s, "\"DELETED\"");
	assert_int_equal(count(t.text.s, "\"type\":"), 2);
	assert_null(strstr(t.text.s, "n00010"));
	apiserver_stream_free(s);
	strbuf_done(&t.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(list_in_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(list_at_one_revision, setup, teardown),
		cmocka_unit_test_setup_teardown(list_too_slow, setup, teardown),
		cmocka_unit_test_setup_teardown(list_given_up, setup, teardown),
		cmocka_unit_test_setup_teardown(long_page, setup, teardown),
		cmocka_unit_test_setup_teardown(state_in_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(looks_in_vain, setup, teardown),
		cmocka_unit_test_setup_teardown(one_name, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
