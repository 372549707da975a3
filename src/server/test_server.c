/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The server with its threads and real sockets: start, reload under traffic, stop with queries in
 * flight, and starts that fail half-way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "corefile/corefile.h"
#include "server/conn/listener.h"
#include "server/conn/listener_test.h"
#include "server/handler.h"
#include "server/query.h"
#include "server/server_state.h"
#include "server/setup.h"
#include "server/worker.h"

/* ---- a plugin that answers at once, later, or never ---- */

static _Atomic int n_alive;	 /* instances between prepare and teardown */
static _Atomic int n_on_workers; /* and between worker_init and worker_done, on all workers */
static _Atomic bool refuse_workers;

static int t_prepare(struct plugin_inst *self, struct prepare *p)
{
	(void)self;
	(void)p;
	n_alive++;
	return 0;
}

static void t_teardown(struct plugin_inst *self)
{
	(void)self;
	n_alive--;
}

static int t_worker_init(struct plugin_inst *self, struct worker *w)
{
	if (refuse_workers && worker_slot(w) == 2)
		return ERR_LIMIT;
	assert_null(self->worker_data[worker_slot(w)]);
	self->worker_data[worker_slot(w)] = w;
	n_on_workers++;
	return 0;
}

static void t_worker_done(struct plugin_inst *self, struct worker *w)
{
	assert_ptr_equal(self->worker_data[worker_slot(w)], w);
	self->worker_data[worker_slot(w)] = NULL;
	n_on_workers--;
}

static enum verdict t_serve(struct plugin_inst *self, struct query *q)
{
	assert_ptr_equal(self->worker_data[query_slot(q)], q->worker);
	query_reply(q);
	switch (q->qname.wire[1]) {
	case 'l': /* later */
		query_resume_at(q, query_now(q) + 2 * NS_PER_MS);
		return V_WAIT;
	case 'm': /* much later */
		query_resume_at(q, query_now(q) + 100 * NS_PER_MS);
		return V_WAIT;
	case 'n': /* never */
		return V_WAIT;
	default:
		return V_ANSWERED;
	}
}

static enum verdict t_resume(struct plugin_inst *self, struct query *q)
{
	/* The instance is still alive on this worker, whatever was reloaded meanwhile. */
	assert_ptr_equal(self->worker_data[query_slot(q)], q->worker);
	return V_ANSWERED;
}

static int local_parse(struct plugin_inst *self, struct setup *s)
{
	static const char *const ip[] = { "127.0.0.1" };
	(void)self;
	s->conf->listen = ip;
	s->conf->n_listen = 1;
	return 0;
}

static const struct plugin local_plugin = { .name = "local", .parse = local_parse };
static const struct plugin t_plugin = { .name = "t",
					.prepare = t_prepare,
					.teardown = t_teardown,
					.worker_init = t_worker_init,
					.worker_done = t_worker_done,
					.serve = t_serve,
					.resume = t_resume };
const struct plugin *const plugin_list[] = { &local_plugin, &t_plugin, NULL };

/* ---- server and client ---- */

static struct corefile *corefile(const char *text)
{
	static const struct corefile_source none;
	struct corefile *cf = NULL;
	struct srcerr err = { 0 };
	assert_int_equal(corefile_parse("Corefile", slice_of(text), &none, &cf, &err), 0);
	return cf;
}

#define PLAIN ".:0 {\n local\n t\n}\n"

static struct server *start(unsigned workers)
{
	struct srcerr err = { 0 };
	struct server *s = NULL;
	struct server_opts o = { .workers = workers, .log_fd = 2 };
	n_alive = n_on_workers = 0;
	refuse_workers = false;
	assert_int_equal(server_start(&o, corefile(PLAIN), &s, &err), 0);
	return s;
}

static int client(const struct server *s)
{
	union net_addr to = listener_find((struct server *)(uintptr_t)s, "dns://127.0.0.1:0")->addr;
	struct timeval patience = { .tv_sec = 10 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(connect(fd, &to.sa, net_addr_len(&to)), 0);
	return fd;
}

static void ask(int fd, uint16_t id, char what)
{
	uint8_t m[] = { 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, (uint8_t)what, 0, 0, 1, 0, 1 };
	dns_put16(m, id);
	assert_int_equal(send(fd, m, sizeof(m), 0), sizeof(m));
}

static int reply_id(int fd)
{
	uint8_t m[512];
	return recv(fd, m, sizeof(m), 0) >= 12 && (m[3] & 15) == 0 ? dns_get16(m) : -1;
}

/* ---- tests ---- */

static void starts_and_stops(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct server *s = start(workers);
		assert_int_equal(n_on_workers, workers);
		/* cache lines of its own: malloc() aligns to 16 */
		assert_int_equal((uintptr_t)s->worker % _Alignof(struct worker), 0);
		int fd = client(s);
		for (uint16_t i = 0; i < 50; i++) {
			ask(fd, i, 'x');
			assert_int_equal(reply_id(fd), i);
		}
		close(fd);
		server_stop(s, NS_PER_S);
		assert_int_equal(n_alive, 0);
		assert_int_equal(n_on_workers, 0);
	}
}

static _Atomic bool enough;

struct traffic {
	const struct server *server;
	pthread_t thread;
	int fd;
	char what;
	unsigned asked, lost;
};

static void *ask_on(void *arg)
{
	struct traffic *t = arg;
	while (!enough) {
		uint16_t id = (uint16_t)t->asked++;
		ask(t->fd, id, t->what);
		if (reply_id(t->fd) != id)
			t->lost++;
	}
	return NULL;
}

/* One client is answered at once, one by queries that wait over the reload. */
static void reloads_lose_nothing(void **state)
{
	enum { RELOADS = 200 };
	struct traffic t[] = { { .what = 'x' }, { .what = 'l' }, { .what = 'x' } };
	struct srcerr err = { 0 };
	(void)state;
	struct server *s = start(2);
	enough = false;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		t[i].fd = client(s);
		assert_int_equal(pthread_create(&t[i].thread, NULL, ask_on, &t[i]), 0);
	}
	for (unsigned i = 0; i < RELOADS; i++) {
		/* Every other one has a further listener, some fail. */
		const char *text = i % 2 == 0 ? PLAIN "x.test:0 {\n t\n}\n" : PLAIN;
		refuse_workers = i % 7 == 3;
		int r = server_reload(s, corefile(text), &err);
		assert_int_equal(r, refuse_workers ? ERR_LIMIT : 0);
	}
	refuse_workers = false;
	enough = true;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		pthread_join(t[i].thread, NULL);
		assert_int_equal(t[i].lost, 0);
		assert_true(t[i].asked > 0);
		close(t[i].fd);
	}
	server_stop(s, 5 * NS_PER_S);
	assert_int_equal(n_alive, 0);
	assert_int_equal(n_on_workers, 0);
}

static void reload_does_not_wait_for_old_queries(void **state)
{
	struct srcerr err = { 0 };
	(void)state;
	struct server *s = start(1);
	int fd = client(s);
	ask(fd, 1, 'm');
	ask(fd, 2, 'x');
	assert_int_equal(reply_id(fd), 2);
	assert_int_equal(server_reload(s, corefile(PLAIN), &err), 0);
	assert_int_equal(n_alive, 2); /* the query's own generation is still there */
	assert_true(server_reap(s));
	assert_int_equal(reply_id(fd), 1);
	while (server_reap(s))
		sched_yield();
	assert_int_equal(n_alive, 1);
	close(fd);
	server_stop(s, NS_PER_S);
	assert_int_equal(n_alive, 0);
}

static void stop_gives_queries_their_time(void **state)
{
	(void)state;
	struct server *s = start(2);
	int fd = client(s);
	ask(fd, 1, 'm');
	ask(fd, 2, 'x');
	assert_int_equal(reply_id(fd), 2);
	uint64_t begin = clock_mono_ns();
	server_stop(s, 10 * NS_PER_S);
	uint64_t took = clock_mono_ns() - begin;
	assert_true(took < 5 * NS_PER_S);
	assert_int_equal(reply_id(fd), 1);
	assert_int_equal(n_alive, 0);
	close(fd);
}

/* Runs fn in a process of its own, which may leave memory behind; its exit status. */
static int in_child(void (*fn)(void))
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(60);
		fn();
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void stop_with_a_query_that_never_ends(void)
{
	struct server *s = start(2);
	int fd = client(s);
	ask(fd, 1, 'n');
	ask(fd, 2, 'x');
	if (reply_id(fd) != 2)
		_exit(1);
	uint64_t begin = clock_mono_ns();
	server_stop(s, 50 * NS_PER_MS);
	uint64_t took = clock_mono_ns() - begin;
	if (took < 50 * NS_PER_MS || took > 10 * NS_PER_S)
		_exit(2);
	if (n_alive != 1) /* not torn down under the query */
		_exit(3);
}

static void stop_is_bounded(void **state)
{
	(void)state;
	assert_int_equal(in_child(stop_with_a_query_that_never_ends), 0);
}

/* Descriptors run out at every point of the start but the log ring: an error each time, no hang, no
 * crash. */
static void start_without_descriptors(void)
{
	struct rlimit l = { 0 };
	getrlimit(RLIMIT_NOFILE, &l);
	int first = dup(2);
	close(first);
	bool started = false;
	for (rlim_t extra = 1; extra < 64 && !started; extra++) {
		struct srcerr err = { 0 };
		struct server *s = NULL;
		struct server_opts o = { .workers = 4, .log_fd = 2 };
		struct corefile *cf = corefile(PLAIN);
		l.rlim_cur = (rlim_t)first + extra;
		setrlimit(RLIMIT_NOFILE, &l);
		int r = server_start(&o, cf, &s, &err);
		if (r < 0 && (err.text[0] == '\0' || n_alive != 0 || n_on_workers != 0))
			_exit(1);
		started = r == 0;
		if (started)
			server_stop(s, NS_PER_S);
	}
	if (!started)
		_exit(2);
}

static void starts_that_fail(void **state)
{
	struct srcerr err = { 0 };
	struct server *s = NULL;
	struct server_opts o = { .workers = 2, .log_fd = 2 };
	(void)state;
	assert_int_equal(in_child(start_without_descriptors), 0);
	refuse_workers = true;
	n_alive = n_on_workers = 0;
	assert_int_equal(server_start(&o, corefile(PLAIN), &s, &err), ERR_LIMIT);
	assert_null(s);
	assert_int_equal(n_alive, 0);
	assert_int_equal(n_on_workers, 0);
}

/* A port in use by another process: a failed start or reload leaves nothing behind. */
static void port_in_use(void **state)
{
	struct srcerr err = { 0 };
	struct server *s = NULL;
	struct server_opts o = { .workers = 2, .log_fd = 2 };
	union net_addr a = { .v4 = { .sin_family = AF_INET } };
	socklen_t n = sizeof(a);
	char text[200], want[100];
	(void)state;
	a.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, &a.sa, sizeof(a.v4)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, &a.sa, &n), 0);
	snprintf(text, sizeof(text), PLAIN "x.test:%u {\n local\n t\n}\n", net_addr_port(&a));
	snprintf(want, sizeof(want), "cannot listen on dns://127.0.0.1:%u: Address already in use",
		 net_addr_port(&a));
	n_alive = 0;
	assert_int_equal(server_start(&o, corefile(text), &s, &err), -EADDRINUSE);
	assert_string_equal(err.text, want);
	assert_int_equal(n_alive, 0);

	s = start(2);
	assert_int_equal(server_reload(s, corefile(text), &err), -EADDRINUSE);
	assert_string_equal(err.text, want);
	assert_int_equal(n_alive, 1);
	assert_null(s->listeners->next);
	int c = client(s);
	ask(c, 1, 'x');
	assert_int_equal(reply_id(c), 1);
	close(c);
	close(fd);
	server_stop(s, NS_PER_S);
}

static void counts_cpus(void **state)
{
	(void)state;
	assert_in_range(server_default_workers(), 1, WORKERS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_that_fail), /* forks: before there are threads */
		cmocka_unit_test(stop_is_bounded),
		cmocka_unit_test(starts_and_stops),
		cmocka_unit_test(reloads_lose_nothing),
		cmocka_unit_test(reload_does_not_wait_for_old_queries),
		cmocka_unit_test(stop_gives_queries_their_time),
		cmocka_unit_test(port_in_use),
		cmocka_unit_test(counts_cpus),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
