/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Informers over real connections to a server that sends rubbish: an error, what was good is kept,
 * and the next answer makes up for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "kube/decode/compact.h"
#include "kube/decode/frame.h"
#include "kube/decode/tree.h"
#include "kube/informer/informer_priv.h"
#include "kube/test_rig.h"

enum { WAIT_S = 20 };

/* ---- who listens ---- */

struct ear {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct strbuf heard;
};

static void ear_say(struct ear *e, char what, const char *name, const char *rv)
{
	pthread_mutex_lock(&e->lock);
	strbuf_addf(&e->heard, "%c%s@%s ", what, name, rv);
	pthread_cond_broadcast(&e->cond);
	pthread_mutex_unlock(&e->lock);
}

static void on_added(void *ctx, struct kube_obj *o)
{
	ear_say(ctx, '+', o->name, o->rv);
}

static void on_updated(void *ctx, struct kube_obj *old, struct kube_obj *o)
{
	(void)old;
	ear_say(ctx, '~', o->name, o->rv);
}

static void on_deleted(void *ctx, struct kube_obj *o)
{
	ear_say(ctx, '-', o->name, o->rv);
}

static struct timespec soon(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += WAIT_S;
	return t;
}

/* Until all of the text was heard. */
static void ear_wait(struct ear *e, const char *name, const char *want)
{
	struct timespec t = soon();
	int r = 0;
	pthread_mutex_lock(&e->lock);
	while (r == 0 && e->heard.n < strlen(want))
		r = pthread_cond_timedwait(&e->cond, &e->lock, &t);
	bool good = strcmp(e->heard.s, want) == 0;
	pthread_mutex_unlock(&e->lock);
	if (!good)
		fail_msg("%s: heard %s, not %s", name, e->heard.s, want);
}

static void ear_init(struct ear *e)
{
	*e = (struct ear){ .heard = STRBUF_INIT };
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->cond, NULL);
}

static void ear_done(struct ear *e)
{
	pthread_cond_destroy(&e->cond);
	pthread_mutex_destroy(&e->lock);
	strbuf_done(&e->heard);
}

static struct kube_handler handler_of(struct ear *e)
{
	return (struct kube_handler){
		.added = on_added, .updated = on_updated, .deleted = on_deleted, .ctx = e
	};
}

/* ---- what the server says ---- */

#define META(name, rv) \
	"\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"resourceVersion\":\"" rv "\"}"
#define EV(type, object) "{\"type\":\"" type "\",\"object\":{" object "}}\n"
#define ADD(name, rv)	 EV("ADDED", META(name, rv))
#define END(rv)                                                                              \
	EV("BOOKMARK", "\"metadata\":{\"resourceVersion\":\"" rv "\",\"annotations\":{\"k8s" \
		       ".io/initial-events-end\":\"true\"}}")

#define N10(x)	x x x x x x x x x x
#define N100(x) N10(N10(x))
#define N600(x) N100(x) N100(x) N100(x) N100(x) N100(x) N100(x)

/* In an answer that has listed `a` up to version 5; the next answer brings `b`. */
static const struct {
	const char *name, *bytes;
	bool goes_on; /* as a watch: the rubbish is left out, or was an end like others */
	uint64_t bad, errors;
} rows[] = {
	{ "a page of a proxy", "<html><body>503</body></html>", false, 0, 1 },
	{ "text", "upstream connect error", false, 0, 1 },
	{ "a list", "[]", false, 0, 1 },
	{ "a number", "12", false, 0, 1 },
	{ "no object", "{\"type\":\"ADDED\"}\n", false, 0, 1 },
	{ "object that is a text", "{\"type\":\"ADDED\",\"object\":\"x\"}\n", false, 0, 1 },
	{ "braces the wrong way", "{\"type\":\"ADDED\",\"object\":}{", false, 0, 1 },
	{ "too deep", EV("ADDED", META("x", "6") ",\"d\":" N600("[") N600("]")), false, 0, 1 },
	{ "a type of 500 bytes",
	  "{\"type\":\"" N100("ADDED") "\",\"object\":{" META("x", "6") "}}\n", false, 0, 1 },
	{ "cut inside a text", "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"x", true,
	  0, 1 },
	{ "a table", EV("ADDED", "\"kind\":\"Table\",\"rows\":[]," META("x", "6")), true, 1, 0 },
	{ "another kind", EV("MODIFIED", "\"kind\":\"Pod\"," META("x", "6")), true, 1, 0 },
	{ "a Status", EV("ADDED", "\"kind\":\"Status\",\"code\":500"), true, 1, 0 },
	{ "no name", EV("ADDED", "\"metadata\":{\"resourceVersion\":\"6\"}"), true, 1, 0 },
	{ "bad escape inside", EV("ADDED", META("x", "6") ",\"d\":\"\\x\""), true, 1, 0 },
	{ "not UTF-8", EV("ADDED", META("x", "6") ",\"d\":\"\xff\xfe\""), true, 1, 0 },
	{ "not JSON inside", EV("ADDED", META("x", "6") ",\"d\":[1,,2]"), true, 1, 0 },
	{ "beyond 64 bits", EV("ADDED", META("x", "6") ",\"n\":92233720368547758080"), true, 1, 0 },
	{ "beyond a double", EV("DELETED", META("a", "6") ",\"n\":1e999"), true, 1, 0 },
	{ "unknown type", EV("NEWS", META("x", "6")), true, 0, 0 },
};

static struct kube_informer *start(struct kube_client *client, struct kube_codec *codec,
				   const char *kind, struct ear *e)
{
	struct kube_informer_conf c = {
		.client = client,
		.kind = api_kind_find("", kind),
		.codec = codec,
		.times = { .backoff_min_ns = NS_PER_MS, .backoff_max_ns = 2 * NS_PER_MS },
	};
	struct kube_handler h = handler_of(e);
	char err[128];
	struct kube_informer *i = kube_informer_new(&c);
	kube_informer_handle(i, &h);
	assert_int_equal(kube_informer_start(i, ERR_TEXT(err)), 0);
	return i;
}

static void rubbish(void **state)
{
	static const char again[] = ADD("a", "1") ADD("b", "7") END("9");
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;
		struct kube_informer_stats st;
		struct ear e;
		struct fakeapi *f = fakeapi_new(NULL);
		ear_init(&e);
		strbuf_addf(&first, "%s%s", ADD("a", "1") END("5"), rows[k].bytes);
		fakeapi_push(f, &(struct fakeapi_reply){ .body = first.s });
		fakeapi_push(
			f, &(struct fakeapi_reply){ .body = rows[k].goes_on ? ADD("b", "7") : again,
						    .hang = true });
		struct kube_client *client = client_of(fakeapi_url(f), "");
		struct kube_codec *codec = kube_tree_codec(api_kind_find("", "ConfigMap"), NULL, 0);
		struct kube_informer *i = start(client, codec, "ConfigMap", &e);
		ear_wait(&e, rows[k].name, "+a@1 +b@7 ");
		bool relisted = strstr(fakeapi_request(f, 1), "sendInitialEvents") != NULL;
		kube_informer_stop(i);
		kube_informer_stats(i, &st);
		if (relisted == rows[k].goes_on || st.bad != rows[k].bad ||
		    st.errors < rows[k].errors || fakeapi_requests(f) != 2)
			fail_msg("%s: %d bad, %d errors, %s", rows[k].name, (int)st.bad,
				 (int)st.errors, relisted ? "listed again" : "went on");
		kube_informer_free(i);
		kube_client_free(client);
		fakeapi_free(f);
		ear_done(&e);
	}
}

/* Numbers beyond what a trimmed field holds leave that object out; 2^53 + 1 elsewhere is nobody's
 * business. */
static void numbers_of_trimmed(void **state)
{
	static const char body[] =
		EV("ADDED", META("big", "1") ",\"spec\":{\"ports\":[{\"port\":9007199254740993}]}")
			EV("ADDED", META("huge", "2") ",\"spec\":{\"ports\":[{\"port\":1e999}]}")
				EV("ADDED", "\"generation\":9007199254740993," META(
						    "ok", "3") ",\"spec\":{\"ports\":[{\"port\":80,"
							       "\"nodePort\":9007199254740993}]}")
					END("9");
	struct kube_string_pool *t = kube_string_pool_new();
	struct kube_informer_stats st;
	struct ear e;
	struct fakeapi *f = fakeapi_new(NULL);
	(void)state;
	ear_init(&e);
	fakeapi_push(f, &(struct fakeapi_reply){ .body = body, .hang = true });
	struct kube_client *client = client_of(fakeapi_url(f), "");
	struct kube_informer *i = start(client, kube_service_codec(t), "Service", &e);
	ear_wait(&e, "numbers", "+ok@3 ");
	kube_informer_stop(i);
	kube_informer_stats(i, &st);
	assert_int_equal(st.bad, 2);
	kube_informer_free(i);
	kube_client_free(client);
	kube_string_pool_free(t);
	fakeapi_free(f);
	ear_done(&e);
}

/* ---- frames of any size ---- */

static long peak_kb(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* A frame of `n` bytes behind a list of `a`. */
static void add_frame(struct strbuf *out, size_t n)
{
	static const char head[] = "{\"type\":\"ADDED\",\"object\":{" META("x", "6") ",\"d\":\"";
	static const char piece[] = N100("0123456789");
	strbuf_adds(out, ADD("a", "1") END("5"));
	strbuf_adds(out, head);
	for (size_t at = sizeof(head) + 4; at < n; at += sizeof(piece) - 1)
		strbuf_adds(out, piece);
	strbuf_adds(out, "\"}}\n");
}

static void one_size(size_t n, const char *again, const char *heard, bool relisted)
{
	CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
	struct fakeapi *f = fakeapi_new(NULL);
	struct ear e;
	ear_init(&e);
	add_frame(&body, n);
	fakeapi_push(f, &(struct fakeapi_reply){ .body = body.s, .body_n = body.n });
	fakeapi_push(f, &(struct fakeapi_reply){ .body = again, .hang = true });
	struct kube_client *client = client_of(fakeapi_url(f), "");
	struct kube_codec *codec = kube_tree_codec(api_kind_find("", "ConfigMap"), NULL, 0);
	long before = peak_kb();
	struct kube_informer *i = start(client, codec, "ConfigMap", &e);
	ear_wait(&e, "frame", heard);
	assert_int_equal(strstr(fakeapi_request(f, 1), "sendInitialEvents") != NULL, relisted);
	/* The server's copy; the bytes held, in a buffer that doubles; what libcurl has. */
	long limit = (long)(body.n + 3 * (size_t)KUBE_FRAME_OBJECT_MAX) / 1024;
	/* Sanitizers keep what was freed: there is nothing to measure with them. */
	if (!SANITIZED && peak_kb() - before > limit)
		fail_msg("%ld kB for a frame of %zu bytes", peak_kb() - before, n);
	kube_informer_free(i);
	kube_client_free(client);
	fakeapi_free(f);
	ear_done(&e);
}

static void sizes(void **state)
{
	(void)state;
	one_size(64 << 20, ADD("a", "1") ADD("b", "7") END("9"), "+a@1 +b@7 ", true);
	one_size(KUBE_FRAME_OBJECT_MAX + 2000, ADD("a", "1") ADD("b", "7") END("9"), "+a@1 +b@7 ",
		 true);
	one_size(KUBE_FRAME_OBJECT_MAX - 2000, ADD("b", "7"), "+a@1 +x@6 +b@7 ", false);
}

/* ---- broken at every byte ---- */

static const char stream[] = ADD("a", "1") ADD("b", "2") END("5")
	EV("MODIFIED", META("b", "6") ",\"d\":[\"\\\"}\",{\"e\":1}]") EV("DELETED", META("a", "7"));
static const char relist[] = ADD("b", "6") ADD("c", "8") END("9");
static const char list[] = "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[{" META(
	"b", "6") "},{" META("c", "8") "}]}";

/* Says `stream` up to a byte, then something else; from then on all is as in `list`. */
struct breaker {
	size_t at;
	const char *junk;
	bool broken;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool cancelled;
};

static int breaker_hang(struct breaker *b)
{
	pthread_mutex_lock(&b->lock);
	while (!b->cancelled)
		pthread_cond_wait(&b->cond, &b->lock);
	pthread_mutex_unlock(&b->lock);
	return -ECANCELED;
}

static int breaker_stream(void *ctx, const struct kube_stream *q, struct kube_status *reterr)
{
	struct breaker *b = ctx;
	bool watch = strstr(q->path, "watch=true") != NULL;
	bool initial = strstr(q->path, "sendInitialEvents") != NULL;
	(void)reterr;
	if (!b->broken) {
		b->broken = true;
		int r = q->data(q->ctx, (struct slice){ stream, b->at });
		if (r == 0)
			r = q->data(q->ctx, slice_of(b->junk));
		return r;
	}
	if (!watch)
		return q->data(q->ctx, slice_of(list));
	/* Who watches on has what came before the break; what differs comes as events. */
	int r = q->data(q->ctx, initial ? slice_of(relist)
					: SLICE(EV("MODIFIED", META("b", "6")) EV(
						  "DELETED", META("a", "7")) ADD("c", "8")));
	return r < 0 ? r : breaker_hang(b);
}

static void breaker_cancel(void *ctx)
{
	struct breaker *b = ctx;
	pthread_mutex_lock(&b->lock);
	b->cancelled = true;
	pthread_cond_broadcast(&b->cond);
	pthread_mutex_unlock(&b->lock);
}

static void breaker_free(void *ctx)
{
	(void)ctx;
}

static int breaker_open(void *ctx, struct kube_transport *ret, struct err_text err)
{
	(void)err;
	*ret = (struct kube_transport){
		.stream = breaker_stream, .cancel = breaker_cancel, .free = breaker_free, .ctx = ctx
	};
	return 0;
}

static bool add_name(void *ctx, struct kube_obj *o)
{
	strbuf_addf(ctx, "%s@%s ", o->name, o->rv);
	return true;
}

static bool is_whole(struct kube_informer *i, struct strbuf *held)
{
	strbuf_reset(held);
	kube_store_each(kube_informer_store(i), add_name, held);
	return strcmp(held->s, "b@6 c@8 ") == 0 || strcmp(held->s, "c@8 b@6 ") == 0;
}

/* Each change is heard of, so each is looked at. */
static bool becomes_whole(struct kube_informer *i, struct ear *e, struct strbuf *held)
{
	struct timespec t = soon();
	bool whole;
	int r = 0;
	pthread_mutex_lock(&e->lock);
	while (!(whole = is_whole(i, held)) && r == 0)
		r = pthread_cond_timedwait(&e->cond, &e->lock, &t);
	pthread_mutex_unlock(&e->lock);
	return whole;
}

static void break_at(size_t at, const char *junk)
{
	struct breaker b = { .at = at, .junk = junk };
	struct kube_informer_conf c = {
		.kind = api_kind_find("", "ConfigMap"),
		.codec = kube_tree_codec(api_kind_find("", "ConfigMap"), NULL, 0),
		.times = { .backoff_min_ns = 1024, .backoff_max_ns = 1024 },
	};
	CLEANUP(strbuf_done) struct strbuf held = STRBUF_INIT;
	struct ear e;
	char err[64];
	ear_init(&e);
	pthread_mutex_init(&b.lock, NULL);
	pthread_cond_init(&b.cond, NULL);
	struct kube_handler h = handler_of(&e);
	struct kube_informer *i = kube_informer_new_on(&c, breaker_open, &b);
	kube_informer_handle(i, &h);
	assert_int_equal(kube_informer_start(i, ERR_TEXT(err)), 0);
	if (!becomes_whole(i, &e, &held))
		fail_msg("broken at %zu by '%s': %s, heard %s", at, junk, held.s, e.heard.s);
	kube_informer_free(i);
	pthread_cond_destroy(&b.cond);
	pthread_mutex_destroy(&b.lock);
	ear_done(&e);
}

static void every_byte(void **state)
{
	static const char *const junk[] = { "", "\x01", "}", "\"", "{" };
	(void)state;
	for (size_t at = 0; at < sizeof(stream) - 1; at++)
		for (size_t k = 0; k < ARRAY_LEN(junk); k++)
			break_at(at, junk[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rubbish),
		cmocka_unit_test(numbers_of_trimmed),
		cmocka_unit_test(sizes),
		cmocka_unit_test(every_byte),
	};
	return cmocka_run_group_tests_name("kube/informer_bad", tests, NULL, NULL);
}
