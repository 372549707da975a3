/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One thread starts the programs, waits for the end of any, and starts them again when their delay is
 * over. Children are of that thread: the kernel kills them when it ends. */
#include "cmd/up/supervise.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/up/spawn_child.h"

#define LOG_AREA "child"

static const struct supervise_times default_times = {
	.delay_ns = NS_PER_S,
	.delay_max_ns = 60 * NS_PER_S,
	.settle_ns = 10 * NS_PER_S,
	.stop_ns = 5 * NS_PER_S,
};

enum { REASON_MAX = 160, TEXT_MAX = 320 };

struct child {
	char *name;
	char **argv; /* ended by NULL */
	struct spawn_child process;
	bool runs;
	uint64_t since_ns;	 /* running: of its start; else of the next one */
	unsigned starts;	 /* in all */
	unsigned ends;		 /* in a row, each soon after the start */
	char reason[REASON_MAX]; /* of the last end: "ended with exit status 1" */
};

struct supervise {
	struct supervise_times times;
	struct child *children;
	size_t count;
	int wake_fd;
	pthread_t thread;
	pthread_mutex_t lock; /* guards the states of children, and `stopping` */
	bool stopping;
};

/* ---- one child ---- */

static uint64_t delay_of(const struct supervise *supervise, unsigned ends)
{
	uint64_t delay = supervise->times.delay_ns;
	for (unsigned i = 1; i < ends && delay < supervise->times.delay_max_ns; i++)
		delay *= 2;
	return delay < supervise->times.delay_max_ns ? delay : supervise->times.delay_max_ns;
}

static bool is_settled(const struct supervise *supervise, const struct child *child,
		       uint64_t now_ns)
{
	return child->runs && now_ns - child->since_ns >= supervise->times.settle_ns;
}

/* It has ended, for child->reason, or could not be started. */
static void plan_restart(const struct supervise *supervise, struct child *child, bool settled)
{
	child->ends = settled ? 1 : child->ends + 1;
	uint64_t delay = delay_of(supervise, child->ends);
	child->runs = false;
	child->since_ns = clock_mono_ns() + delay;
	log_warn(LOG_AREA, "%s %s; starting it again in %.1f s", child->name, child->reason,
		 (double)delay / (double)NS_PER_S);
}

static void start_child(const struct supervise *supervise, struct child *child)
{
	assert(!child->runs);
	child->starts++;
	int r = spawn_child_start((const char *const *)child->argv, &child->process);
	if (r < 0) {
		snprintf(child->reason, sizeof(child->reason), "could not be started: '%s': %s",
			 child->argv[0], err_str(r));
		plan_restart(supervise, child, false);
		return;
	}
	child->runs = true;
	child->since_ns = clock_mono_ns();
	log_info(LOG_AREA, "%s runs as process %d", child->name, (int)child->process.pid);
}

static void note_end(struct child *child, int status)
{
	if (WIFSIGNALED(status))
		snprintf(child->reason, sizeof(child->reason), "was ended by signal %d (%s)",
			 WTERMSIG(status), sigdescr_np(WTERMSIG(status)));
	else
		snprintf(child->reason, sizeof(child->reason), "ended with exit status %d",
			 WEXITSTATUS(status));
}

static void reap_child(const struct supervise *supervise, struct child *child)
{
	bool settled = is_settled(supervise, child, clock_mono_ns());
	note_end(child, spawn_child_reap(&child->process));
	plan_restart(supervise, child, settled);
}

/* ---- the thread ---- */

/* Starts what is due; when the next one is, in ms for poll(). */
static int start_due(struct supervise *supervise)
{
	uint64_t next_ns = UINT64_MAX;
	for (size_t i = 0; i < supervise->count; i++) {
		struct child *child = &supervise->children[i];
		if (!child->runs && child->since_ns <= clock_mono_ns())
			start_child(supervise, child);
		if (!child->runs && child->since_ns < next_ns)
			next_ns = child->since_ns;
	}
	if (next_ns == UINT64_MAX)
		return -1;
	uint64_t now_ns = clock_mono_ns();
	return next_ns > now_ns ? (int)((next_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

/* Waits for ends of children and the wish to stop; `fds` has a place for each, and one more. */
static void wait_ends(const struct supervise *supervise, struct pollfd *fds, int timeout_ms)
{
	fds[supervise->count] = (struct pollfd){ .fd = supervise->wake_fd, .events = POLLIN };
	for (size_t i = 0; i < supervise->count; i++) {
		const struct child *child = &supervise->children[i];
		fds[i] = (struct pollfd){ .fd = child->runs ? child->process.pid_fd : -1,
					  .events = POLLIN };
	}
	if (poll(fds, supervise->count + 1, timeout_ms) < 0)
		for (size_t i = 0; i <= supervise->count; i++)
			fds[i].revents = 0;
}

static size_t count_running(const struct supervise *supervise)
{
	size_t running = 0;
	for (size_t i = 0; i < supervise->count; i++)
		running += supervise->children[i].runs;
	return running;
}

static void signal_running(const struct supervise *supervise, int sig)
{
	for (size_t i = 0; i < supervise->count; i++) {
		if (supervise->children[i].runs)
			kill(-supervise->children[i].process.pid, sig);
	}
}

static void reap_ended(struct supervise *supervise, const struct pollfd *fds)
{
	for (size_t i = 0; i < supervise->count; i++) {
		struct child *child = &supervise->children[i];
		if (fds[i].revents == 0)
			continue;
		assert(child->runs);
		spawn_child_reap(&child->process);
		child->runs = false;
	}
}

/* SIGTERM, then SIGKILL for those that do not obey. Nobody reports any more: no lock. */
static void end_children(struct supervise *supervise, struct pollfd *fds)
{
	uint64_t end_ns = clock_mono_ns() + supervise->times.stop_ns;
	eventfd_t ignored;
	IGNORE(eventfd_read(supervise->wake_fd, &ignored)); /* or poll() would not wait */
	signal_running(supervise, SIGTERM);
	for (uint64_t now_ns; count_running(supervise) != 0;) {
		now_ns = clock_mono_ns();
		if (now_ns >= end_ns)
			signal_running(supervise, SIGKILL);
		wait_ends(supervise, fds,
			  now_ns < end_ns ? (int)((end_ns - now_ns) / NS_PER_MS) + 1 : -1);
		reap_ended(supervise, fds);
	}
}

static void *run_thread(void *arg)
{
	struct supervise *supervise = arg;
	struct pollfd *fds = xcalloc(supervise->count + 1, sizeof(*fds));
	for (;;) {
		pthread_mutex_lock(&supervise->lock);
		bool stopping = supervise->stopping;
		int timeout_ms = stopping ? 0 : start_due(supervise);
		pthread_mutex_unlock(&supervise->lock);
		if (stopping)
			break;
		wait_ends(supervise, fds, timeout_ms);
		pthread_mutex_lock(&supervise->lock);
		for (size_t i = 0; i < supervise->count; i++) {
			if (fds[i].revents != 0)
				reap_child(supervise, &supervise->children[i]);
		}
		pthread_mutex_unlock(&supervise->lock);
	}
	end_children(supervise, fds);
	free(fds);
	return NULL;
}

/* ---- the report ---- */

static double seconds_of(uint64_t ns)
{
	return (double)ns / (double)NS_PER_S;
}

/* True when it is well. */
static bool describe_child(const struct supervise *supervise, const struct child *child,
			   char text[TEXT_MAX])
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t wait_ns = child->since_ns > now_ns ? child->since_ns - now_ns : 0;
	if (!child->runs && child->starts == 0) {
		snprintf(text, TEXT_MAX, "is about to be started");
		return true;
	}
	if (!child->runs) {
		snprintf(text, TEXT_MAX, "%s, %u time%s in a row; starts again in %.1f s",
			 child->reason, child->ends, child->ends == 1 ? "" : "s",
			 seconds_of(wait_ns));
		return false;
	}
	if (child->ends == 0 || is_settled(supervise, child, now_ns)) {
		snprintf(text, TEXT_MAX, "runs as process %d", (int)child->process.pid);
		return true;
	}
	snprintf(text, TEXT_MAX, "%s, %u time%s in a row; runs again for %.1f s, as process %d",
		 child->reason, child->ends, child->ends == 1 ? "" : "s",
		 seconds_of(now_ns - child->since_ns), (int)child->process.pid);
	return false;
}

void supervise_report(struct supervise *supervise, supervise_report_fn fn, void *ctx)
{
	for (size_t i = 0; i < supervise->count; i++) {
		char text[TEXT_MAX];
		pthread_mutex_lock(&supervise->lock);
		bool well = describe_child(supervise, &supervise->children[i], text);
		pthread_mutex_unlock(&supervise->lock);
		fn(ctx, supervise->children[i].name, well, text);
	}
}

/* ---- start and end ---- */

static char **dup_words(const char *const *words)
{
	size_t n = 0;
	while (words[n] != NULL)
		n++;
	char **copy = xcalloc(n + 1, sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = xstrdup(words[i]);
	return copy;
}

static void supervise_free(struct supervise *supervise)
{
	for (size_t i = 0; i < supervise->count; i++) {
		struct child *child = &supervise->children[i];
		assert(!child->runs);
		for (size_t k = 0; child->argv[k] != NULL; k++)
			free(child->argv[k]);
		free(child->argv);
		free(child->name);
	}
	free(supervise->children);
	if (supervise->wake_fd >= 0)
		close(supervise->wake_fd);
	pthread_mutex_destroy(&supervise->lock);
	free(supervise);
}

static uint64_t time_or(uint64_t given_ns, uint64_t default_ns)
{
	return given_ns != 0 ? given_ns : default_ns;
}

static void set_times(struct supervise *supervise, const struct supervise_times *given)
{
	const struct supervise_times *def = &default_times;
	supervise->times = (struct supervise_times){
		.delay_ns = time_or(given->delay_ns, def->delay_ns),
		.delay_max_ns = time_or(given->delay_max_ns, def->delay_max_ns),
		.settle_ns = time_or(given->settle_ns, def->settle_ns),
		.stop_ns = time_or(given->stop_ns, def->stop_ns),
	};
}

int supervise_start(const struct supervise_program *programs, size_t count,
		    const struct supervise_times *times, struct supervise **ret,
		    struct err_text err)
{
	struct supervise *supervise = xcalloc(1, sizeof(*supervise));
	set_times(supervise, times != NULL ? times : &default_times);
	pthread_mutex_init(&supervise->lock, NULL);
	supervise->children = xcalloc(count, sizeof(supervise->children[0]));
	supervise->count = count;
	for (size_t i = 0; i < count; i++) {
		supervise->children[i].name = xstrdup(programs[i].name);
		supervise->children[i].argv = dup_words(programs[i].argv);
	}
	supervise->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = supervise->wake_fd < 0
			? -errno
			: -pthread_create(&supervise->thread, NULL, run_thread, supervise);
	if (r < 0) {
		err_text_set(err, "cannot start a thread for child processes: %s", err_str(r));
		supervise_free(supervise);
		return r;
	}
	*ret = supervise;
	return 0;
}

void supervise_stop(struct supervise *supervise)
{
	if (supervise == NULL)
		return;
	pthread_mutex_lock(&supervise->lock);
	supervise->stopping = true;
	pthread_mutex_unlock(&supervise->lock);
	IGNORE(eventfd_write(supervise->wake_fd, 1)); /* its counter has room */
	pthread_join(supervise->thread, NULL);
	supervise_free(supervise);
}
