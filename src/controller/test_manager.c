/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The manager around a controller made for the test: changes become keys, failures come back,
 * health tells, the end is orderly. The server is a scripted one: what is watched comes from its
 * answers. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/clock_test.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/manager_test.h"
#include "kube/decode/tree.h"
#include "kube/informer/store_test.h"
#include "kube/test_rig.h"
#include "testing/fake_http.h"

/* ---- the controller ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static struct strbuf seen = STRBUF_INIT;
static unsigned failures_left;
static int states; /* started less stopped */

static int reconcile(struct controller_ctx *c, const char *key)
{
	int r = 0;
	assert_string_equal(c->ns, "own");
	assert_non_null(c->conn);
	assert_ptr_equal(c->state, &states);
	assert_true(kube_store_count(c->stores[0]) > 0);
	pthread_mutex_lock(&lock);
	strbuf_addf(&seen, "%s ", key);
	if (failures_left > 0) {
		failures_left--;
		snprintf(c->err, sizeof(c->err), "on purpose");
		r = ERR_BUSY;
	}
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	return r;
}

static int start(void **ret, struct err_text err)
{
	(void)err;
	states++;
	*ret = &states;
	return 0;
}

static void stop(void *state)
{
	assert_ptr_equal(state, &states);
	states--;
}

static const struct controller_watch watches[] = { { .group = "", .kind = "ConfigMap" } };
static const struct controller one = { .name = "one",
				       .watch = watches,
				       .n_watch = 1,
				       .reconcile = reconcile,
				       .start = start,
				       .stop = stop };
static const struct controller *const all[] = { &one };

static void wait_seen(const char *what)
{
	pthread_mutex_lock(&lock);
	while (strstr(seen.s, what) == NULL)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
}

/* ---- the server: lists by LIST alone, two objects, then a watch that stays open ---- */

#define REFUSE_STREAM \
	"{\"kind\":\"Status\",\"code\":422,\"reason\":\"Invalid\",\"message\":\"no streams\"}"
#define LIST                                                                                       \
	"{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"     \
	"\"9\"},"                                                                                  \
	"\"items\":[{\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\",\"resourceVersion\":\"1\"}" \
	"},"                                                                                       \
	"{\"metadata\":{\"name\":\"y\",\"namespace\":\"ns\",\"resourceVersion\":\"2\"}}]}"

static void push_lists(struct fakeapi *f)
{
	fakeapi_push(f, &(struct fakeapi_reply){ .status = 422, .body = REFUSE_STREAM });
	fakeapi_push(f, &(struct fakeapi_reply){ .body = LIST });
	fakeapi_push(f, &(struct fakeapi_reply){ .hang_first = true });
}

static int setup(void **state)
{
	struct rig *g = xcalloc(1, sizeof(*g));
	rig_up(g);
	strbuf_reset(&seen);
	failures_left = 0;
	log_set_fd(2);
	*state = g;
	return 0;
}

static int teardown(void **state)
{
	rig_down(*state);
	free(*state);
	assert_int_equal(states, 0);
	return 0;
}

static struct manager *run_these(struct rig *rig, const struct controller *const *controllers)
{
	struct manager_conf c = { .client = rig->client,
				  .controllers = controllers,
				  .n_controllers = 1,
				  .ns = "own",
				  .no_election = true,
				  .listen = "127.0.0.1:0" };
	struct manager *m;
	char err[200] = "";
	if (manager_start(&c, &m, ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
	return m;
}

static struct manager *run(struct rig *rig)
{
	return run_these(rig, all);
}

static void objects_become_keys(void **state)
{
	struct rig *g = *state;
	unsigned status;
	push_lists(g->f);
	struct manager *m = run(g);
	wait_seen("ns/x ");
	wait_seen("ns/y ");
	CLEANUP(freep) char *ready = http_fake_get((uint16_t)manager_port(m), "/readyz", &status);
	assert_int_equal(status, 200);
	assert_string_equal(ready, "ok\n");
	CLEANUP(freep) char *text = http_fake_get((uint16_t)manager_port(m), "/metrics", &status);
	assert_non_null(strstr(text, "fairlead_controller_leader{controller=\"one\"} 1"));
	manager_stop(m);
	assert_int_equal(manager_run(m), 0);
}

/* ---- many at a time ---- */

enum { TOGETHER_S = 20 };

static unsigned n_inside; /* guarded by `lock` */

/* Returns when as many run as there are workers, which would never be if one waited for another. */
static int reconcile_together(struct controller_ctx *c, const char *key)
{
	struct timespec until;
	(void)c;
	(void)key;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += TOGETHER_S;
	pthread_mutex_lock(&lock);
	n_inside++;
	pthread_cond_broadcast(&cond);
	while (n_inside < CONTROLLER_WORKERS_MAX &&
	       pthread_cond_timedwait(&cond, &lock, &until) == 0)
		;
	pthread_mutex_unlock(&lock);
	return 0;
}

static const struct controller busy = { .name = "busy",
					.watch = watches,
					.n_watch = 1,
					.workers = CONTROLLER_WORKERS_MAX,
					.reconcile = reconcile_together };
static const struct controller *const only_busy[] = { &busy };

/* A controller's writes are durable one by one: its rate is the number of them that are under way at
 * a time, by the time that one takes. */
static void all_workers_at_once(void **state)
{
	struct rig *g = *state;
	CLEANUP(strbuf_done) struct strbuf list = STRBUF_INIT;
	strbuf_adds(&list, "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
			   "\"resourceVersion\":\"99\"},\"items\":[");
	for (unsigned i = 0; i < CONTROLLER_WORKERS_MAX; i++)
		strbuf_addf(&list,
			    "%s{\"metadata\":{\"name\":\"n%u\",\"namespace\":\"ns\","
			    "\"resourceVersion\":\"%u\"}}",
			    i > 0 ? "," : "", i, i + 1);
	strbuf_adds(&list, "]}");
	fakeapi_push(g->f, &(struct fakeapi_reply){ .status = 422, .body = REFUSE_STREAM });
	fakeapi_push(g->f, &(struct fakeapi_reply){ .body = list.s });
	fakeapi_push(g->f, &(struct fakeapi_reply){ .hang_first = true });
	n_inside = 0;
	uint64_t start = clock_mono_ns();
	struct manager *m = run_these(g, only_busy);
	pthread_mutex_lock(&lock);
	while (n_inside < CONTROLLER_WORKERS_MAX)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	assert_true(clock_mono_ns() - start < TOGETHER_S * NS_PER_S);
	manager_stop(m);
	assert_int_equal(manager_run(m), 0);
}

static void failures_come_back(void **state)
{
	struct rig *g = *state;
	failures_left = 3;
	push_lists(g->f);
	struct manager *m = run(g);
	pthread_mutex_lock(&lock);
	while (seen.n < 5 * strlen("ns/x "))
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	manager_stop(m);
	assert_int_equal(manager_run(m), 0);
}

static void not_ready_without_lists(void **state)
{
	struct rig *g = *state;
	unsigned status;
	for (int i = 0; i < 3; i++)
		fakeapi_push(g->f, &(struct fakeapi_reply){ .hang_first = true });
	struct manager *m = run(g);
	CLEANUP(freep) char *text = http_fake_get((uint16_t)manager_port(m), "/readyz", &status);
	assert_int_equal(status, 503);
	assert_string_equal(text, "controller one waits for the list of ConfigMap\n");
	CLEANUP(freep) char *alive = http_fake_get((uint16_t)manager_port(m), "/healthz", &status);
	assert_int_equal(status, 200);
	assert_string_equal(alive, "ok\n");
	manager_stop(m);
	assert_int_equal(manager_run(m), 0);
	assert_string_equal(seen.s, "");
}

static _Atomic uint64_t ahead_ns; /* of the kernel's clock */

static uint64_t mono_ahead_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec + ahead_ns;
}

static uint64_t wall_fixed_ns(void)
{
	return NS_PER_S;
}

/* Lists that take a moment are no problem; those that take long are. */
static void incomplete_lists_are_reported(void **state)
{
	static const struct clock_source source = { mono_ahead_ns, wall_fixed_ns };
	struct rig *g = *state;
	CLEANUP(strbuf_done) struct strbuf problems = STRBUF_INIT;
	for (int i = 0; i < 3; i++)
		fakeapi_push(g->f, &(struct fakeapi_reply){ .hang_first = true });
	ahead_ns = 0;
	clock_set_source(&source);
	struct manager *m = run(g);
	manager_report_problems(m, &problems);
	assert_string_equal(problems.s, "");
	ahead_ns = 10 * NS_PER_S;
	manager_report_problems(m, &problems);
	assert_string_equal(problems.s, "controller one waits for the list of ConfigMap\n");
	manager_stop(m);
	assert_int_equal(manager_run(m), 0);
	clock_set_source(NULL);
}

/* A kind that the server lacks, or keeps from us, is no reason to wait. */
static void optional_kind_may_be_missing(void **state)
{
	static const struct controller_watch missing[] = {
		{ .group = "config.openshift.io", .kind = "Network", .optional = true }
	};
	struct controller other = one;
	const struct controller *const list[] = { &other };
	struct rig *g = *state;
	unsigned status = 0;
	other.watch = missing;
	for (int i = 0; i < 20; i++)
		fakeapi_push(g->f, &(struct fakeapi_reply){ .status = i % 2 == 0 ? 404 : 403,
							    .body = "{\"kind\":\"Status\"}" });
	struct manager_conf c = { .client = g->client,
				  .controllers = list,
				  .n_controllers = 1,
				  .ns = "own",
				  .no_election = true,
				  .listen = "127.0.0.1:0" };
	struct manager *m;
	char err[200] = "";
	assert_int_equal(manager_start(&c, &m, ERR_TEXT(err)), 0);
	while (status != 200)
		free(http_fake_get((uint16_t)manager_port(m), "/readyz", &status));
	manager_stop(m);
	assert_int_equal(manager_run(m), 0);
	assert_string_equal(seen.s, "");
}

/* ---- a heartbeat ---- */

static _Atomic unsigned beats;
static _Atomic bool hang; /* reconciles do not end */

static int reconcile_slowly(struct controller_ctx *ctx, const char *key)
{
	(void)key;
	while (hang)
		poll(NULL, 0, 10);
	ctx->again_ns = NS_PER_MS;
	return 0;
}

static void choose_reply(void *ctx, const char *request, struct fakeapi_reply *ret)
{
	(void)ctx;
	if (strstr(request, "/leases") != NULL) {
		beats += strncmp(request, "GET ", 4) != 0;
		ret->body =
			"{\"metadata\":{\"name\":\"beat\",\"resourceVersion\":\"1\"},\"spec\":{}}";
	} else if (strstr(request, "sendInitialEvents") != NULL) {
		*ret = (struct fakeapi_reply){ .status = 422, .body = REFUSE_STREAM };
	} else if (strstr(request, "watch=") != NULL) {
		ret->hang_first = true;
	} else {
		ret->body = LIST;
	}
}

static void wait_beats(unsigned more)
{
	for (unsigned want = beats + more; beats < want;)
		poll(NULL, 0, 10);
}

/* Two intervals after all workers began to hang there is none; one that works again has one. */
static void no_heartbeat_while_workers_hang(void **state)
{
	const struct controller_options options = { .heartbeat_ns = NS_PER_S };
	struct controller other = one;
	const struct controller *const list[] = { &other };
	struct rig *g = *state;
	struct manager *m;
	char err[200] = "";
	other.reconcile = reconcile_slowly;
	other.workers = 2;
	other.heartbeat_lease = "beat";
	other.heartbeat_holder = "us";
	hang = false;
	beats = 0;
	fakeapi_set_chooser(g->f, choose_reply, NULL);
	struct manager_conf c = { .client = g->client,
				  .controllers = list,
				  .n_controllers = 1,
				  .ns = "own",
				  .no_election = true,
				  .options = &options };
	assert_int_equal(manager_start(&c, &m, ERR_TEXT(err)), 0);
	wait_beats(2);
	hang = true;
	poll(NULL, 0, 3500); /* two intervals, and the beat before their end */
	unsigned before = beats;
	poll(NULL, 0, 1500);
	assert_int_equal(beats, before);
	hang = false;
	wait_beats(1);
	manager_stop(m);
	assert_int_equal(manager_run(m), 0);
}

/* The command line, then the machine, then the table, then the default. */
static void limits_on_writes(void **state)
{
	static const struct controller_writes none = { 0 }, row = { 3, 4 }, flag = { 5, 6 };
	static const struct controller_machine machine = { .port = 53 };
	const struct controller_options on_machine = { .machine = &machine }, cluster = { 0 };
	const struct {
		struct controller_writes row, flag;
		const struct controller_options *options;
		unsigned per_s, burst;
	} cases[] = {
		{ none, none, NULL, CONTROLLER_WRITES_PER_S, CONTROLLER_WRITES_BURST },
		{ none, none, &cluster, CONTROLLER_WRITES_PER_S, CONTROLLER_WRITES_BURST },
		{ row, none, &cluster, 3, 4 },
		{ row, flag, &cluster, 5, 6 },
		{ none, flag, &cluster, 5, 6 },
		{ row, none, &on_machine, CONTROLLER_WRITES_UNLIMITED, 0 },
		{ row, flag, &on_machine, 5, 6 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct controller second = one;
		const struct controller *const list[] = { &one, &second };
		const struct controller_writes flags[] = { none, cases[i].flag };
		second.writes = cases[i].row;
		struct manager_conf conf = { .controllers = list,
					     .n_controllers = 2,
					     .writes = flags,
					     .options = cases[i].options };
		struct controller_writes got = manager_choose_writes(&conf, 1);
		assert_int_equal(got.per_s, cases[i].per_s);
		assert_int_equal(got.burst, cases[i].burst);
	}
}

static void bad_configuration(void **state)
{
	struct rig *g = *state;
	struct manager_conf c = { .client = g->client,
				  .controllers = all,
				  .n_controllers = 1,
				  .ns = "own",
				  .times = { NS_PER_S, NS_PER_S, NS_PER_S } };
	struct manager *m;
	char err[200] = "";
	assert_int_equal(manager_start(&c, &m, ERR_TEXT(err)), ERR_CONFIG);
	assert_string_not_equal(err, "");
	c.times = (struct elect_times){ 0 };
	c.listen = "nonsense";
	assert_int_equal(manager_start(&c, &m, ERR_TEXT(err)), ERR_PARSE);
	assert_non_null(strstr(err, "nonsense"));
}

static void every_controller_is_found(void **state)
{
	(void)state;
	assert_non_null(controller_list[0]);
	for (size_t i = 0; controller_list[i] != NULL; i++) {
		const struct controller *c = controller_list[i];
		assert_ptr_equal(controller_find(c->name), c);
		assert_true(c->n_watch <= CONTROLLER_WATCHES_MAX);
		assert_true(c->workers <= CONTROLLER_WORKERS_MAX);
		for (size_t w = 0; w < c->n_watch; w++)
			assert_non_null(api_kind_find(c->watch[w].group, c->watch[w].kind));
	}
	assert_null(controller_find("nonsense"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(objects_become_keys),
		T(all_workers_at_once),
		T(failures_come_back),
		T(not_ready_without_lists),
		T(incomplete_lists_are_reported),
		T(optional_kind_may_be_missing),
		T(no_heartbeat_while_workers_hang),
		T(bad_configuration),
		cmocka_unit_test(limits_on_writes),
		cmocka_unit_test(every_controller_is_found),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	strbuf_done(&seen);
	return r;
}
