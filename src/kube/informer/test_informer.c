/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reflector over a scripted server: what it asks, what its handlers hear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/strbuf.h"
#include "kube/decode/tree.h"
#include "kube/informer/informer_priv.h"

struct act {
	const char *path; /* all of these words, separated by spaces, are in it */
	const char *body;
	int code;
	int http;
};

struct script {
	const struct act *acts;
	size_t n, at;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool ended, cancelled;
	struct strbuf wrong; /* what was asked for instead */
	struct strbuf heard;
};

static bool fits(const char *path, const char *words)
{
	struct slice rest = slice_of(words);
	while (rest.p != NULL) {
		struct slice w = slice_cut(&rest, ' ');
		bool not_there = w.n != 0 && w.p[0] == '!';
		w = slice_from(w, not_there ? 1 : 0);
		if ((memmem(path, strlen(path), w.p, w.n) != NULL) == not_there)
			return false;
	}
	return true;
}

static int hang(struct script *s)
{
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	pthread_cond_broadcast(&s->cond);
	while (!s->cancelled)
		pthread_cond_wait(&s->cond, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return -ECANCELED;
}

static int play(void *ctx, const struct kube_stream *q, struct kube_status *reterr)
{
	struct script *s = ctx;
	if (s->at == s->n)
		return hang(s);
	const struct act *a = &s->acts[s->at++];
	bool watch = strstr(q->path, "watch=true") != NULL;
	if (!fits(q->path, a->path) || q->gzip == watch ||
	    strcmp(q->accept, "application/json;omit=managedFields") != 0)
		strbuf_addf(&s->wrong, "[%zu: %s]", s->at - 1, q->path);
	/* One byte at a time. */
	for (size_t i = 0; a->body != NULL && a->body[i] != '\0'; i++) {
		int r = q->data(q->ctx, (struct slice){ a->body + i, 1 });
		if (r < 0)
			return r;
	}
	reterr->code = a->http;
	return a->code;
}

static void cancel(void *ctx)
{
	struct script *s = ctx;
	pthread_mutex_lock(&s->lock);
	s->cancelled = true;
	pthread_cond_broadcast(&s->cond);
	pthread_mutex_unlock(&s->lock);
}

static void nothing(void *ctx)
{
	(void)ctx;
}

static int open_script(void *ctx, struct kube_transport *ret, struct err_text err)
{
	(void)err;
	*ret = (struct kube_transport){
		.stream = play, .cancel = cancel, .free = nothing, .ctx = ctx
	};
	return 0;
}

static void on_added(void *ctx, struct kube_obj *o)
{
	strbuf_addf(ctx, "+%s@%s ", o->name, o->rv);
}
static void on_updated(void *ctx, struct kube_obj *old, struct kube_obj *o)
{
	strbuf_addf(ctx, "~%s@%s-%s ", o->name, old->rv, o->rv);
}
static void on_deleted(void *ctx, struct kube_obj *o)
{
	strbuf_addf(ctx, "-%s@%s ", o->name, o->rv);
}
static void on_synced(void *ctx)
{
	strbuf_adds(ctx, "synced ");
}

#define OBJ(name, rv)                                                                              \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"resourceVersion\":\"" rv "\"}" \
	"}"
#define EV(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define ADD(name, rv)	 EV("ADDED", OBJ(name, rv))
#define MOD(name, rv)	 EV("MODIFIED", OBJ(name, rv))
#define DEL(name, rv)	 EV("DELETED", OBJ(name, rv))
#define MARK(rv)	 EV("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" rv "\"}}")
#define END(rv)                                                                         \
	EV("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" rv "\",\"annotations\":" \
		       "{\"k8s.io/initial-events-end\":\"true\"}}}")
#define ERROR(code, reason) \
	EV("ERROR", "{\"kind\":\"Status\",\"code\":" code ",\"reason\":\"" reason "\"}")
#define LIST(rv, next, items)                                                \
	"{\"metadata\":{\"resourceVersion\":\"" rv "\",\"continue\":\"" next \
	"\"},\"items\":[" items "]}"

#define STREAM                                                                 \
	"watch=true sendInitialEvents=true resourceVersionMatch=NotOlderThan " \
	"allowWatchBookmarks=true timeoutSeconds="
#define WATCH "watch=true !sendInitial allowWatchBookmarks=true "

static const struct scenario {
	const char *name;
	struct act acts[8];
	const char *heard;
	uint64_t bad, repeated;
} scenarios[] = {
	{ "1.4 streaming list, then its events",
	  { { STREAM " resourceVersion= !resourceVersion=1",
	      ADD("b", "7") ADD("a", "3") END("9") ADD("c", "10") MOD("a", "11") DEL("b", "12")
		      MARK("20"),
	      0, 0 },
	    { WATCH "resourceVersion=20", MOD("c", "21"), 0, 0 },
	    { WATCH "resourceVersion=21", "", 0, 0 } },
	  "+b@7 +a@3 synced +c@10 ~a@3-11 -b@7 ~c@10-21 ",
	  0,
	  0 },
	{ "1.4 live events before the end bookmark",
	  { { STREAM, ADD("a", "3") ADD("b", "4") DEL("a", "8") MOD("b", "9") END("10"), ERR_CLOSED,
	      0 },
	    { WATCH "resourceVersion=10", "", 0, 0 } },
	  "+a@3 +b@4 -a@3 ~b@4-9 synced ",
	  0,
	  0 },
	{ "1.4 cut before the bookmark: version not moved, nothing twice",
	  { { STREAM, ADD("a", "3") ADD("b", "4"), ERR_CLOSED, 0 },
	    { "limit=10000 !resourceVersion", LIST("9", "", OBJ("a", "3") "," OBJ("b", "5")), 0,
	      0 },
	    { WATCH "resourceVersion=9", "", 0, 0 } },
	  "+a@3 +b@4 ~b@4-5 synced ",
	  0,
	  1 },
	{ "1.4 gate off: list in pages, remembered",
	  { { STREAM, NULL, ERR_CONFIG, 422 },
	    { "limit=10000 !watch !continue", LIST("9", "t/1", OBJ("a", "3")), 0, 0 },
	    { "limit=10000 continue=t%2F1 !resourceVersion", LIST("9", "", OBJ("b", "4")), 0, 0 },
	    { WATCH "resourceVersion=9", ERROR("410", "Expired"), 0, 0 },
	    { "limit=10000 resourceVersion=9&resourceVersionMatch=NotOlderThan",
	      LIST("30", "", OBJ("b", "5")), 0, 0 },
	    { WATCH "resourceVersion=30", "", 0, 0 } },
	  "+a@3 +b@4 synced ~b@4-5 -a@3 ",
	  0,
	  0 },
	{ "6.1 old etcd: ERROR 500 inside the stream",
	  { { STREAM, ERROR("500", "InternalError"), 0, 0 },
	    { "limit=10000", LIST("9", "", ""), 0, 0 },
	    { WATCH "resourceVersion=9", "", 0, 0 } },
	  "synced ",
	  0,
	  0 },
	{ "1.3 page two is gone: again, in one piece",
	  { { STREAM, NULL, ERR_CONFIG, 422 },
	    { "limit=10000", LIST("9", "t", OBJ("a", "3")), 0, 0 },
	    { "continue=t", NULL, ERR_GONE, 410 },
	    { "!limit !resourceVersion", LIST("12", "", OBJ("a", "3") "," OBJ("b", "11")), 0, 0 },
	    { WATCH "resourceVersion=12", "", 0, 0 } },
	  "+a@3 +b@11 synced ",
	  0,
	  1 },
	{ "a page that breaks off is asked for again",
	  { { STREAM, NULL, ERR_CONFIG, 422 },
	    { "limit=10000", LIST("9", "t", OBJ("a", "3")), 0, 0 },
	    { "limit=10000 continue=t", "{\"items\":[" OBJ("b", "4"), ERR_CLOSED, 0 },
	    { "limit=2500 continue=t", NULL, ERR_CLOSED, 0 },
	    { "limit=625 continue=t", "", ERR_CLOSED, 0 },
	    { "limit=500 continue=t", LIST("9", "", OBJ("b", "4") "," OBJ("c", "5")), 0, 0 },
	    { WATCH "resourceVersion=9", "", 0, 0 } },
	  "+a@3 +b@4 +c@5 synced ",
	  0,
	  1 },
	{ "1.3 a page that is refused for a while, then its token is gone",
	  { { STREAM, NULL, ERR_CONFIG, 422 },
	    { "limit=10000", LIST("9", "t", OBJ("a", "3")), 0, 0 },
	    { "continue=t", NULL, ERR_BUSY, 429 },
	    { "continue=t", NULL, ERR_DENIED, 401 },
	    { "continue=t", LIST("9", "u", OBJ("b", "4")), 0, 0 },
	    { "continue=u", NULL, ERR_GONE, 410 },
	    { "!limit !continue", LIST("12", "", OBJ("b", "4")), 0, 0 },
	    { WATCH "resourceVersion=12", "", 0, 0 } },
	  "+a@3 +b@4 -a@3 synced ",
	  0,
	  1 },
	{ "a token that is refused: from the start",
	  { { STREAM, NULL, ERR_CONFIG, 422 },
	    { "limit=10000", LIST("9", "t", OBJ("a", "3")), 0, 0 },
	    { "continue=t", NULL, ERR_CONFIG, 400 },
	    { "limit=10000 !continue", LIST("9", "", OBJ("b", "4")), 0, 0 },
	    { WATCH "resourceVersion=9", "", 0, 0 } },
	  "+a@3 +b@4 -a@3 synced ",
	  0,
	  0 },
	{ "a page that names itself as the next: from the start, no loop",
	  { { STREAM, NULL, ERR_CONFIG, 422 },
	    { "limit=10000", LIST("9", "t", OBJ("a", "3")), 0, 0 },
	    { "continue=t", LIST("9", "t", OBJ("b", "4")), 0, 0 },
	    { "limit=10000 !continue", LIST("9", "", OBJ("b", "4")), 0, 0 },
	    { WATCH "resourceVersion=9", "", 0, 0 } },
	  "+a@3 +b@4 -a@3 synced ",
	  0,
	  1 },
	{ "1.5 410 in the watch: relist not older than we were, deletes made up",
	  { { STREAM, ADD("a", "3") ADD("b", "4") END("9") ADD("c", "10"), 0, 0 },
	    { WATCH "resourceVersion=10", ERROR("410", "Expired"), 0, 0 },
	    { STREAM " resourceVersion=10", ADD("a", "3") ADD("c", "15") END("20"), 0, 0 },
	    { WATCH "resourceVersion=20", "", 0, 0 } },
	  "+a@3 +b@4 synced +c@10 ~c@10-15 -b@4 ",
	  0,
	  1 },
	{ "1.5 410 also for that: the newest, whatever it is",
	  { { STREAM, ADD("a", "3") END("9") MARK("10"), 0, 0 },
	    { WATCH "resourceVersion=10", NULL, ERR_GONE, 410 },
	    { STREAM " resourceVersion=10", ERROR("410", "Gone"), 0, 0 },
	    { STREAM " resourceVersion= !resourceVersion=1", ADD("a", "2") END("4"), 0, 0 },
	    { WATCH "resourceVersion=4", "", 0, 0 } },
	  "+a@3 synced ~a@3-2 ",
	  0,
	  0 },
	{ "1.5 unknown types, other kinds and objects that cannot be read are left out",
	  { { STREAM,
	      ADD("a", "3") END("9") EV("NEWS", "{}")
		      EV("ADDED", "{\"kind\":\"Table\",\"metadata\":{\"name\":\"x\"}}")
			      EV("ADDED", "{\"metadata\":{}}") ADD("b", "12"),
	      0, 0 },
	    { WATCH "resourceVersion=12", "", 0, 0 } },
	  "+a@3 synced +b@12 ",
	  2,
	  0 },
	{ "1.5 a version that comes again is no news",
	  { { STREAM, ADD("a", "3") END("9") MOD("a", "12"), ERR_CLOSED, 0 },
	    { WATCH "resourceVersion=12", MOD("a", "12") DEL("z", "13"), 0, 0 },
	    { WATCH "resourceVersion=13", "", 0, 0 } },
	  "+a@3 synced ~a@3-12 ",
	  0,
	  1 },
	{ "1.5 refused and 429: the same watch, no relist",
	  { { STREAM, END("9"), 0, 0 },
	    { WATCH "resourceVersion=9", NULL, ERR_CLOSED, 0 },
	    { WATCH "resourceVersion=9", NULL, ERR_BUSY, 429 },
	    { WATCH "resourceVersion=9", ADD("a", "10"), 0, 0 },
	    { WATCH "resourceVersion=10", "", 0, 0 } },
	  "synced +a@10 ",
	  0,
	  0 },
	{ "malformed: list again",
	  { { STREAM, ADD("a", "1") END("9") "<html>", 0, 0 },
	    { STREAM " resourceVersion=9", ADD("a", "1") END("11"), 0, 0 },
	    { WATCH "resourceVersion=11", "", 0, 0 } },
	  "+a@1 synced ",
	  0,
	  1 },
	{ "frame cut in the middle: nothing of it is seen",
	  { { STREAM, END("9") "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"x\"", 0,
	      0 },
	    { WATCH "resourceVersion=9", ADD("x", "10"), 0, 0 },
	    { WATCH "resourceVersion=10", "", 0, 0 } },
	  "synced +x@10 ",
	  0,
	  0 },
	{ "a list without items or metadata is none",
	  { { STREAM, NULL, ERR_CONFIG, 422 },
	    { "limit=10000", "{\"kind\":\"Status\"}", 0, 0 },
	    { "limit=10000", "{\"items\":[]}", 0, 0 },
	    { "limit=10000", LIST("3", "", ""), 0, 0 },
	    { WATCH "resourceVersion=3", "", 0, 0 } },
	  "synced ",
	  0,
	  0 },
};

static void run_scenario(const struct scenario *sc, uint64_t backoff_ns)
{
	struct script s = { .acts = sc->acts, .wrong = STRBUF_INIT, .heard = STRBUF_INIT };
	struct kube_informer_conf c = {
		.kind = api_kind_find("", "ConfigMap"),
		.codec = kube_tree_codec(api_kind_find("", "ConfigMap"), NULL, 0),
		.times = { .backoff_min_ns = backoff_ns, .backoff_max_ns = 2 * backoff_ns },
	};
	struct kube_handler h = { .added = on_added,
				  .updated = on_updated,
				  .deleted = on_deleted,
				  .synced = on_synced,
				  .ctx = &s.heard };
	struct kube_informer_stats st;
	char err[64];
	while (s.n < ARRAY_LEN(sc->acts) && sc->acts[s.n].path != NULL)
		s.n++;
	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.cond, NULL);
	struct kube_informer *i = kube_informer_new_on(&c, open_script, &s);
	kube_informer_handle(i, &h);
	assert_false(kube_informer_synced(i));
	assert_int_equal(kube_informer_start(i, ERR_TEXT(err)), 0);
	pthread_mutex_lock(&s.lock);
	while (!s.ended)
		pthread_cond_wait(&s.cond, &s.lock);
	pthread_mutex_unlock(&s.lock);
	assert_true(kube_informer_wait(i, NS_PER_S));
	assert_true(kube_informer_synced(i));
	kube_informer_stop(i);
	kube_informer_stats(i, &st);
	if (strcmp(s.heard.s, sc->heard) != 0 || s.wrong.n != 0 || st.bad != sc->bad ||
	    st.repeated != sc->repeated)
		fail_msg("%s: heard %s, wrong %s, %d bad, %d repeated", sc->name, s.heard.s,
			 s.wrong.s, (int)st.bad, (int)st.repeated);
	kube_informer_free(i);
	pthread_cond_destroy(&s.cond);
	pthread_mutex_destroy(&s.lock);
	strbuf_done(&s.wrong);
	strbuf_done(&s.heard);
}

static void scripts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scenarios); i++)
		run_scenario(&scenarios[i], NS_PER_MS);
}

/* A server that ends each watch after a bookmark that we know: no sign of life, so it is not asked
 * again at once. */
static void no_news(void **state)
{
	static const struct scenario sc = { "bookmarks without news",
					    { { STREAM, END("9"), 0, 0 },
					      { WATCH "resourceVersion=9", MARK("9"), 0, 0 },
					      { WATCH "resourceVersion=9", MARK("9"), 0, 0 },
					      { WATCH "resourceVersion=9", MARK("9"), 0, 0 } },
					    "synced ",
					    0,
					    0 };
	uint64_t start = clock_mono_ns();
	(void)state;
	run_scenario(&sc, 50 * NS_PER_MS);
	assert_true(clock_mono_ns() - start >= (50 + 100 + 100 + 100) * NS_PER_MS);
}

/* Selectors and a namespace; a stop while it waits for its back-off. */
static void selectors_and_stop(void **state)
{
	struct act acts[] = {
		{ "/api/v1/namespaces/n/configmaps? labelSelector=a%3Db%2C%21c "
		  "fieldSelector=metadata.name%3Dx " STREAM,
		  NULL, ERR_BUSY, 429 },
	};
	struct script s = { .acts = acts, .n = 1, .wrong = STRBUF_INIT, .heard = STRBUF_INIT };
	struct kube_informer_conf c = {
		.kind = api_kind_find("", "ConfigMap"),
		.ns = "n",
		.labels = "a=b,!c",
		.fields = "metadata.name=x",
		.codec = kube_tree_codec(api_kind_find("", "ConfigMap"), NULL, 0),
		.times = { .backoff_min_ns = 3600 * NS_PER_S, .backoff_max_ns = 3600 * NS_PER_S },
	};
	struct kube_informer_stats st;
	char err[64];
	(void)state;
	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.cond, NULL);
	struct kube_informer *i = kube_informer_new_on(&c, open_script, &s);
	assert_int_equal(kube_informer_start(i, ERR_TEXT(err)), 0);
	do {
		assert_false(kube_informer_wait(i, NS_PER_MS));
		kube_informer_stats(i, &st);
	} while (st.errors == 0);
	kube_informer_free(i);
	assert_string_equal(s.wrong.s, "");
	pthread_cond_destroy(&s.cond);
	pthread_mutex_destroy(&s.lock);
}

/* A server with an older version of the kind: found at once; both are asked for again when it has gone,
 * too. */
static void older_version(void **state)
{
	struct act acts[] = {
		{ "/api/v1/configmaps? " STREAM, NULL, ERR_NOTFOUND, 404 },
		{ "/api/v1beta1/configmaps? " STREAM, ADD("a", "3") END("9"), 0, 0 },
		{ "/api/v1beta1/configmaps? " WATCH, NULL, ERR_NOTFOUND, 404 },
		{ "/api/v1/configmaps? " STREAM, ADD("a", "4") END("10"), 0, 0 },
	};
	struct script s = {
		.acts = acts, .n = ARRAY_LEN(acts), .wrong = STRBUF_INIT, .heard = STRBUF_INIT
	};
	struct kube_handler h = { on_added, on_updated, on_deleted, on_synced, NULL, &s.heard };
	struct api_kind older = *api_kind_find("", "ConfigMap");
	older.version = "v1beta1";
	struct kube_informer_conf c = {
		.kind = api_kind_find("", "ConfigMap"),
		.older = &older,
		.n_older = 1,
		.codec = kube_tree_codec(api_kind_find("", "ConfigMap"), NULL, 0),
		.times = { .backoff_min_ns = NS_PER_MS, .backoff_max_ns = NS_PER_MS },
	};
	char err[64];
	(void)state;
	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.cond, NULL);
	struct kube_informer *i = kube_informer_new_on(&c, open_script, &s);
	kube_informer_handle(i, &h);
	assert_int_equal(kube_informer_start(i, ERR_TEXT(err)), 0);
	pthread_mutex_lock(&s.lock);
	while (!s.ended)
		pthread_cond_wait(&s.cond, &s.lock);
	pthread_mutex_unlock(&s.lock);
	assert_string_equal(kube_informer_kind(i)->version, "v1");
	kube_informer_stop(i);
	assert_string_equal(s.wrong.s, "");
	assert_string_equal(s.heard.s, "+a@3 synced ~a@3-4 ");
	kube_informer_free(i);
	pthread_cond_destroy(&s.cond);
	pthread_mutex_destroy(&s.lock);
	strbuf_done(&s.wrong);
	strbuf_done(&s.heard);
}

static void on_error(void *ctx, const char *text)
{
	if (strstr(text, "cannot be read") != NULL)
		strbuf_addf(ctx, "%s\n", text);
}

/* Listed again and again, an object that cannot be read is told of once, and once more when it has
 * changed; the others are there. */
static void bad_objects(void **state)
{
#define BAD(more) "{\"metadata\":{\"namespace\":\"n\",\"name\":\"bad\"}," more "[1,,2]}"
	struct act acts[] = {
		{ STREAM, ADD("a", "3") EV("ADDED", BAD("\"x\":")) END("9") ERROR("410", "Expired"),
		  0, 0 },
		{ STREAM,
		  ADD("a", "3") EV("ADDED", BAD("\"x\":")) ADD("b", "4") END("12")
			  EV("MODIFIED", BAD("\"y\":")) ERROR("410", "Expired"),
		  0, 0 },
		{ STREAM, EV("ADDED", BAD("\"y\":")) ADD("b", "4") END("15"), 0, 0 },
		{ NULL, NULL, 0, 0 },
	};
	struct script s = { .acts = acts, .n = 3, .wrong = STRBUF_INIT, .heard = STRBUF_INIT };
	struct kube_informer_conf c = {
		.kind = api_kind_find("", "ConfigMap"),
		.codec = kube_tree_codec(api_kind_find("", "ConfigMap"), NULL, 0),
		.times = { .backoff_min_ns = NS_PER_MS, .backoff_max_ns = 2 * NS_PER_MS },
	};
	struct kube_handler h = { .on_error = on_error, .ctx = &s.heard };
	char err[64];
	(void)state;
	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.cond, NULL);
	struct kube_informer *i = kube_informer_new_on(&c, open_script, &s);
	kube_informer_handle(i, &h);
	assert_int_equal(kube_informer_start(i, ERR_TEXT(err)), 0);
	pthread_mutex_lock(&s.lock);
	while (!s.ended)
		pthread_cond_wait(&s.cond, &s.lock);
	pthread_mutex_unlock(&s.lock);
	kube_informer_free(i);
	static const char line[] =
		"configmaps: 'n/bad' cannot be read and is left out: malformed input\n";
	CLEANUP(strbuf_done) struct strbuf want = STRBUF_INIT;
	strbuf_addf(&want, "%s%s", line, line);
	assert_string_equal(s.heard.s, want.s);
	assert_string_equal(s.wrong.s, "");
	strbuf_done(&s.heard);
	pthread_cond_destroy(&s.cond);
	pthread_mutex_destroy(&s.lock);
}

static void note_synced(void *ctx)
{
	*(int *)ctx = 1;
}

/* Workers ask without a lock: what handlers did before is there for them (TSan knows). */
static void seen_by_others(void **state)
{
	struct act acts[] = { { STREAM, ADD("a", "3") END("9"), 0, 0 } };
	struct script s = { .acts = acts, .n = 1, .wrong = STRBUF_INIT, .heard = STRBUF_INIT };
	struct kube_informer_conf c = {
		.kind = api_kind_find("", "ConfigMap"),
		.codec = kube_tree_codec(api_kind_find("", "ConfigMap"), NULL, 0),
		.times = { .backoff_min_ns = 3600 * NS_PER_S, .backoff_max_ns = 3600 * NS_PER_S },
	};
	int told = 0;
	struct kube_handler h = { .synced = note_synced, .ctx = &told };
	char err[64];
	(void)state;
	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.cond, NULL);
	struct kube_informer *i = kube_informer_new_on(&c, open_script, &s);
	kube_informer_handle(i, &h);
	assert_int_equal(kube_informer_start(i, ERR_TEXT(err)), 0);
	while (!kube_informer_synced(i))
		sched_yield();
	assert_int_equal(told, 1);
	kube_informer_free(i);
	assert_string_equal(s.wrong.s, "");
	pthread_cond_destroy(&s.cond);
	pthread_mutex_destroy(&s.lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scripts),
		cmocka_unit_test(no_news),
		cmocka_unit_test(selectors_and_stop),
		cmocka_unit_test(older_version),
		cmocka_unit_test(bad_objects),
		cmocka_unit_test(seen_by_others),
	};
	return cmocka_run_group_tests_name("kube/informer", tests, NULL, NULL);
}
