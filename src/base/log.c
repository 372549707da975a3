/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing log lines from control code: a line is formatted whole and written with one call under a
 * mutex, so that lines of threads do not mix. */
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { PATIENCE_MS = 100 };

static const struct {
	const char *text;
	const char *json;
} level_names[] = {
	[LOG_DEBUG] = { "DEBUG", "DEBUG" },    [LOG_INFO] = { "INFO", "INFO" },
	[LOG_WARNING] = { "WARNING", "WARN" }, [LOG_ERROR] = { "ERROR", "ERROR" },
	[LOG_FATAL] = { "FATAL", "FATAL" },
};

static _Atomic int format = LOG_TEXT;
static _Atomic bool debug_on;
static _Atomic int out_fd = STDOUT_FILENO;
/* Keeps the lines of several threads whole; guards the descriptors, no fields. */
static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;

void log_set_format(enum log_format wanted)
{
	atomic_store_explicit(&format, (int)wanted, memory_order_relaxed);
}

enum log_format log_get_format(void)
{
	return (enum log_format)atomic_load_explicit(&format, memory_order_relaxed);
}

void log_set_debug(bool on)
{
	atomic_store_explicit(&debug_on, on, memory_order_relaxed);
}

bool log_debug_enabled(void)
{
	return atomic_load_explicit(&debug_on, memory_order_relaxed);
}

void log_set_fd(int fd)
{
	atomic_store_explicit(&out_fd, fd, memory_order_relaxed);
}

/* RFC 3339 in UTC; digits of the second's fraction only as far as they say something. */
static void add_time(struct strbuf *out, uint64_t wall_ns)
{
	time_t s = (time_t)(wall_ns / NS_PER_S);
	struct tm tm;
	char day[40], fraction[16];
	gmtime_r(&s, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	int n = snprintf(fraction, sizeof(fraction), ".%09u", (unsigned)(wall_ns % NS_PER_S));
	while (fraction[n - 1] == '0')
		n--;
	strbuf_adds(out, day);
	if (n > 1)
		strbuf_add(out, fraction, (size_t)n);
	strbuf_addc(out, 'Z');
}

static void add_json_line(struct strbuf *out, enum log_level level, const char *area,
			  struct slice msg, struct slice extra)
{
	const struct slice plugin = SLICE("plugin/");
	strbuf_adds(out, "{\"time\":\"");
	add_time(out, clock_wall_ns());
	strbuf_addf(out, "\",\"level\":\"%s\",\"msg\":", level_names[level].json);
	strbuf_add_json(out, msg);
	if (area != NULL) {
		bool is_plugin = slice_starts(slice_of(area), plugin);
		strbuf_adds(out, is_plugin ? ",\"plugin\":" : ",\"area\":");
		strbuf_add_json(out, slice_from(slice_of(area), is_plugin ? plugin.n : 0));
	}
	strbuf_add_slice(out, extra);
	strbuf_adds(out, "}\n");
}

void log_format_line(struct strbuf *out, enum log_level level, const char *area, struct slice msg,
		     struct slice extra)
{
	if (log_get_format() == LOG_JSON) {
		add_json_line(out, level, area, msg, extra);
		return;
	}
	strbuf_addf(out, "[%s] ", level_names[level].text);
	if (area != NULL)
		strbuf_addf(out, "%s: ", area);
	strbuf_add_slice(out, msg);
	if (msg.n == 0 || msg.p[msg.n - 1] != '\n')
		strbuf_addc(out, '\n');
}

/* A reader that is behind gets a moment; while it stands still further lines wait no longer. Under
 * the lock. */
static bool wait_writable(int fd)
{
	static bool stuck;
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	stuck = poll(&p, 1, stuck ? 0 : PATIENCE_MS) == 0;
	return !stuck;
}

/* A line that cannot be written is lost: there is nowhere left to complain, and no thread may wait
 * for a reader. A pipe that polls writable takes PIPE_BUF bytes without blocking. */
static void write_all(int fd, struct slice line)
{
	while (line.n > 0 && wait_writable(fd)) {
		ssize_t n = write(fd, line.p, MIN(line.n, (size_t)PIPE_BUF));
		if (n >= 0)
			line = slice_from(line, (size_t)n);
		else if (errno != EINTR && errno != EAGAIN)
			return;
	}
}

static PRINTF_LIKE(3, 0) void write_line(enum log_level level, const char *area, const char *fmt,
					 va_list ap)
{
	if (level == LOG_DEBUG && !log_debug_enabled())
		return;
	CLEANUP(strbuf_done) struct strbuf msg = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
	int saved_errno = errno;
	strbuf_vaddf(&msg, fmt, ap);
	log_format_line(&line, level, area, strbuf_slice(&msg), (struct slice){ NULL, 0 });
	pthread_mutex_lock(&write_lock);
	bool to_stderr = level == LOG_FATAL && area == NULL;
	write_all(to_stderr ? STDERR_FILENO : out_fd, strbuf_slice(&line));
	pthread_mutex_unlock(&write_lock);
	errno = saved_errno;
}

void log_msg(enum log_level level, const char *area, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	write_line(level, area, fmt, ap);
	va_end(ap);
}

void log_limited(struct log_limit *limit, enum log_level level, const char *area, const char *fmt,
		 ...)
{
	uint64_t now = clock_mono_ns();
	uint64_t next = atomic_load_explicit(&limit->next_ns, memory_order_relaxed);
	if (now < next ||
	    !atomic_compare_exchange_strong(&limit->next_ns, &next, now + limit->interval_ns)) {
		atomic_fetch_add_explicit(&limit->held_back, 1, memory_order_relaxed);
		return;
	}
	uint32_t held = atomic_exchange_explicit(&limit->held_back, 0, memory_order_relaxed);
	CLEANUP(strbuf_done) struct strbuf msg = STRBUF_INIT;
	va_list ap;
	va_start(ap, fmt);
	strbuf_vaddf(&msg, fmt, ap);
	va_end(ap);
	if (held > 0)
		strbuf_addf(&msg, " (%u more like this)", held);
	log_msg(level, area, "%s", msg.s);
}
