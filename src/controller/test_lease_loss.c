/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A leader that loses its lease, or stops, while a reconcile or its engine hangs: the process ends
 * without them, before another one may lead, and the log has the reason. Each case is a process of its
 * own, with controller, API server and all. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/clock_test.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/engine.h"
#include "controller/manager.h"
#include "kube/test_rig.h"
#include "testing/fake_http.h"

/* What both processes see. */
struct shared {
	_Atomic uint64_t renewed_ns; /* when the last renewal was answered */
	_Atomic bool hangs;	     /* the reconcile, or the work */
	_Atomic bool away;	   /* the server does not answer requests for the Lease any more */
	_Atomic uint64_t ahead_ns; /* of the clock */
};

static struct shared *shared;

static void hang(void)
{
	shared->hangs = true;
	for (;;)
		poll(NULL, 0, 60000);
}

/* ---- the server: a Lease that is whatever was written last, and one object ---- */

#define REFUSE_STREAM \
	"{\"kind\":\"Status\",\"code\":422,\"reason\":\"Invalid\",\"message\":\"no streams\"}"
#define LIST                                                                                   \
	"{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":" \
	"\"9\"},\"items\":[{\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\","                \
	"\"resourceVersion\":\"1\"}}]}"

static void answer_lease(const char *request, struct fakeapi_reply *ret)
{
	static char body[4096];
	const char *sent = strstr(request, "\r\n\r\n");
	if (shared->away) {
		ret->hang_first = true;
	} else if (strncmp(request, "GET ", 4) == 0) {
		ret->status = 404;
	} else {
		snprintf(body, sizeof(body), "%s", sent != NULL ? sent + 4 : "");
		ret->body = body;
		shared->renewed_ns = clock_mono_ns();
	}
}

static void choose_reply(void *ctx, const char *request, struct fakeapi_reply *ret)
{
	(void)ctx;
	if (strstr(request, "/leases") != NULL)
		answer_lease(request, ret);
	else if (strstr(request, "sendInitialEvents") != NULL)
		*ret = (struct fakeapi_reply){ .status = 422, .body = REFUSE_STREAM };
	else if (strstr(request, "watch=") != NULL)
		ret->hang_first = true;
	else
		ret->body = LIST;
}

/* ---- the controllers ---- */

static int hang_in_reconcile(struct controller_ctx *ctx, const char *key)
{
	(void)ctx;
	(void)key;
	hang();
	return 0;
}

static void hang_in_start(struct engine_work *work)
{
	(void)work;
	hang();
}

static void cancel_nothing(struct engine_work *work)
{
	(void)work;
}

static void free_work(struct engine_work *work)
{
	free(work);
}

static int hang_in_engine(struct controller_ctx *ctx, const char *key)
{
	static const struct engine_work_ops ops = { hang_in_start, cancel_nothing, free_work };
	struct engine_work *work = NULL;
	if (engine_take(ctx->engine, key, 1, &work) == ENGINE_NOTHING) {
		work = xcalloc(1, sizeof(*work));
		work->ops = &ops;
		engine_submit(ctx->engine, key, 1, work);
	}
	return 0;
}

static const struct controller_watch watches[] = { { .group = "", .kind = "ConfigMap" } };
static const struct controller stuck_worker = {
	.name = "one", .watch = watches, .n_watch = 1, .reconcile = hang_in_reconcile
};
static const struct controller stuck_engine = { .name = "one",
						.watch = watches,
						.n_watch = 1,
						.has_engine = true,
						.reconcile = hang_in_engine };

static uint64_t mono_ahead_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec + shared->ahead_ns;
}

static uint64_t wall_fixed_ns(void)
{
	return 1000000 * NS_PER_S;
}

/* ---- the process ---- */

struct child {
	pid_t pid;
	int log; /* what it logs */
	struct strbuf text;
};

struct place {
	struct rig rig;
	struct manager *manager;
};

static void start_manager(struct place *place, const struct controller *controller,
			  const struct elect_times *times)
{
	const struct controller *const list[] = { controller };
	char err[200] = "";
	rig_up(&place->rig);
	fakeapi_set_chooser(place->rig.f, choose_reply, NULL);
	if (manager_start(&(struct manager_conf){ .client = place->rig.client,
						  .controllers = list,
						  .n_controllers = 1,
						  .ns = "own",
						  .listen = "127.0.0.1:0",
						  .times = *times },
			  &place->manager, ERR_TEXT(err)) < 0) {
		log_error("test", "%s", err);
		_exit(99);
	}
}

/* The server goes away when the controller hangs. */
static void lose_lease(const struct controller *controller)
{
	static const struct elect_times times = { 2 * NS_PER_S, NS_PER_S, 200 * NS_PER_MS };
	struct place place;
	start_manager(&place, controller, &times);
	while (!shared->hangs)
		poll(NULL, 0, 5);
	shared->away = true;
	_exit(manager_run(place.manager) < 0 ? 98 : 97); /* not reached: it hangs */
}

static void lose_with_worker(void)
{
	lose_lease(&stuck_worker);
}

static void lose_with_engine(void)
{
	lose_lease(&stuck_engine);
}

static void check_health(const struct manager *manager, unsigned wanted)
{
	unsigned status = 0;
	CLEANUP(freep)
	char *text = http_fake_get((uint16_t)manager_port(manager), "/healthz", &status);
	if (status != wanted) {
		log_error("test", "health: %u %s", status, text);
		_exit(96);
	}
	log_info("test", "health: %s", text);
}

/* An engine that has hung for long is no leader's any more. */
static void give_up_lease(void)
{
	static const struct elect_times times = { 120 * NS_PER_S, 90 * NS_PER_S, NS_PER_S };
	static const struct clock_source source = { mono_ahead_ns, wall_fixed_ns };
	struct place place;
	clock_set_source(&source);
	start_manager(&place, &stuck_engine, &times);
	while (!shared->hangs)
		poll(NULL, 0, 5);
	check_health(place.manager, 200);
	shared->ahead_ns = (ENGINE_STUCK_S + 1) * NS_PER_S;
	check_health(place.manager, 503);
	poll(NULL, 0, 2500); /* more than two renewals */
	uint64_t renewed = shared->renewed_ns;
	poll(NULL, 0, 1500);
	log_info("test", "renewed: %s", renewed == shared->renewed_ns ? "no" : "yes");
	shared->ahead_ns = 0;
	manager_stop(place.manager);
	_exit(manager_run(place.manager) < 0 ? 98 : 97); /* not reached: it hangs */
}

#if defined(__SANITIZE_THREAD__)
/* The children end with threads that hang, which are no leaks here, and at a moment that counts. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "report_thread_leaks=0 atexit_sleep_ms=0";
}
#endif

static void run_child(struct child *child, void (*run)(void))
{
	int fds[2];
	*shared = (struct shared){ 0 };
	strbuf_init(&child->text);
	assert_int_equal(pipe(fds), 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		close(fds[0]);
		log_set_fd(fds[1]);
		run();
		_exit(95);
	}
	close(fds[1]);
	child->log = fds[0];
}

/* Until it has ended: its exit status; *ret_ns is when. */
static int wait_child(struct child *child, uint64_t *ret_ns)
{
	char buf[4096];
	int status = 0;
	for (ssize_t n; (n = read(child->log, buf, sizeof(buf))) > 0;)
		strbuf_add(&child->text, buf, (size_t)n);
	*ret_ns = clock_mono_ns();
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	close(child->log);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void expect_log(const struct child *child, const char *wanted)
{
	if (strstr(child->text.s, wanted) == NULL)
		fail_msg("'%s' is not in the log:\n%s", wanted, child->text.s);
}

static void ends_before_the_lease(void (*run)(void), const char *reason)
{
	struct child child;
	uint64_t ended_ns;
	run_child(&child, run);
	int status = wait_child(&child, &ended_ns);
	if (status != EXIT_FAILURE)
		fail_msg("status %d:\n%s", status, child.text.s);
	assert_true(shared->renewed_ns != 0);
	assert_true(ended_ns < shared->renewed_ns + 2 * NS_PER_S);
	expect_log(&child, "the lease 'fairlead-one' was lost; stopping");
	expect_log(&child, reason);
	strbuf_done(&child.text);
}

static void stuck_reconcile(void **state)
{
	(void)state;
	ends_before_the_lease(lose_with_worker, "a reconcile does not end while its lease expires");
}

static void stuck_work(void **state)
{
	(void)state;
	ends_before_the_lease(lose_with_engine, "work of a controller does not end");
}

static void hung_engine_gives_up_its_lease(void **state)
{
	struct child child;
	uint64_t ended_ns;
	(void)state;
	run_child(&child, give_up_lease);
	int status = wait_child(&child, &ended_ns);
	if (status != EXIT_FAILURE)
		fail_msg("status %d:\n%s", status, child.text.s);
	expect_log(&child, "health: controller one: its engine has not turned for more than 30 s");
	expect_log(&child, "the lease is not renewed: controller one: its engine has not turned");
	expect_log(&child, "renewed: no");
	expect_log(&child, "work of a controller does not end");
	strbuf_done(&child.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stuck_reconcile),
		cmocka_unit_test(stuck_work),
		cmocka_unit_test(hung_engine_gives_up_its_lease),
	};
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_true(shared != MAP_FAILED);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
