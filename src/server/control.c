/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The control thread. Signals as in CoreDNS: TERM and INT stop in order, with
 * lameduck; a second INT exits 2; QUIT exits at once; USR1 reloads; HUP is ignored. With the
 * `reload` plugin a changed Corefile is loaded as well: at once where the source reports changes,
 * else after the interval. */
#include "server/control.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/metrics/metrics.h"
#include "base/rng.h"
#include "base/text/duration.h"
#include "corefile/corefile.h"
#include "net/sock.h"
#include "server/config/hash.h"
#include "server/config/load.h"
#include "server/config/watch.h"

enum {
	STOP_GRACE_S = 5,
	REAP_MS = 200,
	SETTLE_MS = 50, /* changes within this time are loaded together */
};

static const struct metrics_family reload_failed_family = {
	.name = "coredns_reload_failed_total",
	.help = "Counter of the number of failed reload attempts.",
	.kind = METRICS_COUNTER,
};
static const struct metrics_family reload_version_family = {
	.name = "coredns_reload_version_info",
	.help = "A metric with a constant '1' value labeled by hash, and value which type of hash "
		"generated.",
	.kind = METRICS_GAUGE,
	.labels = { "hash", "value" },
};

struct control {
	const struct control_opts *opts;
	struct config_source src; /* with a watch of ours */
	int signals;		  /* descriptor */
	struct server *srv;
	struct config_hash live;  /* of the configuration that serves */
	struct config_hash tried; /* of the last one tried, good or bad */
	uint64_t period_ns;	  /* between checks of the configuration; 0: reload is off */
	uint64_t next_check_ns;
	uint64_t changed_ns; /* when to check because a change was reported; 0: none was */
	struct rng rng;
};

/* Interval ± jitter/2, drawn once per configuration as CoreDNS does, so that servers that were
 * started together look at different times. */
static void draw_period(struct control *control)
{
	int64_t interval, jitter;
	server_reload_interval(control->srv, &interval, &jitter);
	int64_t drawn = jitter > 0 ? (int64_t)(rng_u64(&control->rng) % (uint64_t)jitter) : 0;
	control->period_ns = (uint64_t)(interval + drawn - jitter / 2);
	if (control->period_ns == 0) { /* nobody would read the watch's events */
		config_watch_begin(control->src.watch);
		config_watch_end(control->src.watch);
	}
}

static void plan_check(struct control *control)
{
	control->next_check_ns = clock_mono_ns() + control->period_ns;
	control->changed_ns = 0;
}

static void print_fatal(const struct srcerr *err)
{
	char text[1024];
	srcerr_str(err, text, sizeof(text));
	if (log_get_format() == LOG_JSON)
		log_msg(LOG_FATAL, NULL, "%s", text);
	else
		fprintf(stderr, "%s\n", text);
}

static void print_banner(const struct control *control)
{
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	if (control->opts->quiet)
		return;
	server_print_zones(control->srv, &t);
	while (t.n > 0 && t.s[t.n - 1] == '\n')
		t.s[--t.n] = '\0';
	if (log_get_format() == LOG_JSON) {
		log_info(NULL, "%s", t.s);
		log_info(NULL, "%s", control->opts->version);
		return;
	}
	printf("%s\n%s\n", t.s, control->opts->version);
	fflush(stdout);
}

static void report_failed_reload(const char *what, const char *area, const struct srcerr *err)
{
	char text[1024];
	log_error(area, "%s: %s", what, srcerr_str(err, text, sizeof(text)));
	metrics_add(metrics_get(&reload_failed_family, NULL), 0, 1);
}

static void log_hash(const struct control *control)
{
	log_info("plugin/reload", "Running configuration SHA512 = %s", control->live.s);
}

static void set_version_info(const struct control *control)
{
	const char *values[] = { "sha512", control->live.s };
	metrics_drop_family(&reload_version_family);
	metrics_set(metrics_get(&reload_version_family, values), 1);
}

/* Reads the configuration. NULL when it is to be left alone: it cannot be read or does not parse
 * (which has no hash: logged and counted once, not at every check), or when `only_changed` and it
 * is the one tried last, good or bad. */
static struct corefile *load_corefile(struct control *control, bool only_changed)
{
	struct corefile *corefile = NULL;
	struct srcerr err = { 0 };
	struct config_hash h = { 0 };
	bool bad = config_load(&control->src, &corefile, &err) < 0;
	if (bad)
		snprintf(h.s, sizeof(h.s), "%.120s", err.text);
	else
		h = config_hash_of(corefile);
	bool same = only_changed && strcmp(h.s, control->tried.s) == 0;
	control->tried = h;
	if (bad && !same && only_changed)
		report_failed_reload("Corefile parse failed", "plugin/reload", &err);
	else if (bad && !same)
		report_failed_reload("SIGUSR1", NULL, &err);
	if (bad || !same)
		return corefile;
	corefile_free(corefile);
	return NULL;
}

static void confirm_corefile(const struct control *control)
{
	if (control->src.accepted != NULL)
		control->src.accepted(control->src.ctx);
}

/* By a signal, or because the text has changed. */
static void reload_corefile(struct control *control, bool by_signal)
{
	struct srcerr err = { 0 };
	struct corefile *corefile = load_corefile(control, !by_signal);
	if (corefile == NULL)
		return;
	log_info(NULL, "Reloading");
	if (server_reload(control->srv, corefile, &err) < 0) {
		if (by_signal)
			report_failed_reload("SIGUSR1", NULL, &err);
		else
			report_failed_reload("Corefile changed but reload failed", "plugin/reload",
					     &err);
		return;
	}
	control->live = control->tried;
	confirm_corefile(control);
	draw_period(control);
	if (control->period_ns != 0) {
		set_version_info(control);
		log_hash(control);
	}
	log_info(NULL, "Reloading complete");
}

/* A server without its pid file still serves, as CoreDNS's does. */
static void write_pidfile(const struct control *control)
{
	const char *path = control->opts->pidfile;
	FILE *f = path != NULL ? fopen(path, "we") : NULL;
	bool ok = f != NULL && fprintf(f, "%d\n", (int)getpid()) > 0;
	if (f != NULL)
		ok = fclose(f) == 0 && ok;
	if (path != NULL && !ok)
		log_error(NULL, "Could not write pidfile: '%s': %s", path, strerror(errno));
}

static void remove_pidfile(const struct control *control)
{
	if (control->opts->pidfile != NULL)
		unlink(control->opts->pidfile);
}

static int last_good(const struct control *control, struct corefile **ret, struct srcerr *err)
{
	struct config_source src = control->src;
	src.load = control->src.last_good;
	src.watch = NULL;
	return config_load(&src, ret, err);
}

/* `why` is what was wrong with the one that should have been. */
static int start_last_good(struct control *control, const struct srcerr *why)
{
	struct corefile *corefile = NULL;
	struct srcerr err = { 0 };
	char text[1024];
	const char *name = control->src.last_good_name != NULL ? control->src.last_good_name
							       : "the last good configuration";
	int r = last_good(control, &corefile, &err);
	if (r < 0)
		return r;
	log_error(NULL, "starting with %s: %s", name, srcerr_str(why, text, sizeof(text)));
	control->live = config_hash_of(corefile);
	r = server_start(&control->opts->server, corefile, &control->srv, &err);
	if (r < 0)
		log_error(NULL, "%s: %s", name, srcerr_str(&err, text, sizeof(text)));
	else
		metrics_add(metrics_get(&reload_failed_family, NULL), 0, 1);
	return r;
}

/* Serves the source's Corefile or, when that cannot be loaded or served, the last good one. */
static int start_serving(struct control *control, struct srcerr *err)
{
	struct corefile *corefile = NULL;
	int r = config_load_for_start(&control->src, &corefile, err);
	if (r == 0) {
		control->live = control->tried = config_hash_of(corefile);
		r = server_start(&control->opts->server, corefile, &control->srv, err);
	}
	if (r == 0)
		confirm_corefile(control);
	if (r == 0 || control->src.last_good == NULL)
		return r;
	return start_last_good(control, err) < 0 ? r : 0;
}

static int start_server(struct control *control)
{
	struct srcerr err = { 0 };
	int r = start_serving(control, &err);
	if (r < 0) {
		print_fatal(&err);
		return r;
	}
	write_pidfile(control);
	print_banner(control);
	if (control->opts->started != NULL)
		control->opts->started(control->opts->started_ctx);
	draw_period(control);
	plan_check(control);
	metrics_get(&reload_failed_family, NULL); /* so that it exists, as 0, from the start */
	if (control->period_ns != 0)
		log_hash(control);
	return 0;
}

static void set_timeout(struct timespec *ts, uint64_t until_ns)
{
	uint64_t now = clock_mono_ns();
	uint64_t left = until_ns > now ? until_ns - now : 0;
	*ts = (struct timespec){ .tv_sec = (time_t)(left / NS_PER_S),
				 .tv_nsec = (long)(left % NS_PER_S) };
}

/* The next signal, or 0 after a time (0: never) or when one of `change_fds` (-1: none) is readable. */
static int next_signal(const struct control *control, uint64_t until_ns, const int change_fds[2])
{
	struct signalfd_siginfo info;
	struct timespec ts;
	struct pollfd p[] = { { .fd = control->signals, .events = POLLIN },
			      { .fd = change_fds != NULL ? change_fds[0] : -1, .events = POLLIN },
			      { .fd = change_fds != NULL ? change_fds[1] : -1, .events = POLLIN } };
	if (until_ns != 0)
		set_timeout(&ts, until_ns);
	ppoll(p, ARRAY_LEN(p), until_ns != 0 ? &ts : NULL, NULL);
	if (read(control->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		return (int)info.ssi_signo;
	return 0;
}

/* Reads the change events of the configuration's descriptors. */
static void read_change_events(struct control *control)
{
	bool changed = config_watch_changed(control->src.watch);
	if (control->src.changed != NULL)
		changed |= control->src.changed(control->src.ctx);
	if (changed && control->changed_ns == 0)
		control->changed_ns = clock_mono_ns() + SETTLE_MS * NS_PER_MS;
}

static uint64_t earlier_of(uint64_t left, uint64_t right)
{
	return left == 0 || (right != 0 && right < left) ? right : left;
}

/* The next signal, or 0 when it is time to look at the configuration. Meanwhile a replaced one is
 * freed when its last query is done. */
static int next_event(struct control *control)
{
	bool reloads = control->period_ns != 0;
	int change_fds[] = { config_watch_fd(control->src.watch),
			     control->src.fd != NULL ? control->src.fd(control->src.ctx) : -1 };
	for (;;) {
		uint64_t look =
			reloads ? earlier_of(control->next_check_ns, control->changed_ns) : 0;
		uint64_t until = look;
		if (server_reap(control->srv))
			until = earlier_of(look, clock_mono_ns() + REAP_MS * NS_PER_MS);
		int sig = next_signal(control, until, reloads ? change_fds : NULL);
		if (sig != 0)
			return sig;
		if (look != 0 && clock_mono_ns() >= look)
			return 0;
		if (reloads)
			read_change_events(control);
	}
}

/* Serves on for the lameduck time; a further INT or QUIT cuts it short. Exit status or -1. */
static int serve_lameduck(const struct control *control)
{
	int64_t ns = server_lameduck_ns(control->srv);
	if (ns <= 0)
		return -1;
	char text[32];
	log_info("plugin/health", "Going into lameduck mode for %s",
		 duration_str(ns, text, sizeof(text)));
	uint64_t until = clock_mono_ns() + (uint64_t)ns;
	for (;;) {
		int sig = next_signal(control, until, NULL);
		if (sig == 0 && clock_mono_ns() >= until)
			return -1;
		if (sig == SIGINT)
			return 2;
		if (sig == SIGQUIT)
			return 0;
	}
}

static int shut_down(struct control *control, const char *who)
{
	log_info(NULL, "%s: Shutting down servers then terminating", who);
	server_begin_shutdown(control->srv);
	int status = serve_lameduck(control);
	if (status >= 0) {
		remove_pidfile(control);
		_exit(status);
	}
	server_stop(control->srv, STOP_GRACE_S * NS_PER_S);
	remove_pidfile(control);
	return 0;
}

static int run_events(struct control *control)
{
	for (;;) {
		switch (next_event(control)) {
		case 0:
			reload_corefile(control, false);
			plan_check(control);
			break;
		case SIGTERM:
			return shut_down(control, "SIGTERM");
		case SIGINT:
			return shut_down(control, "SIGINT");
		case SIGQUIT:
			log_info(NULL, "SIGQUIT: Quitting process immediately");
			remove_pidfile(control);
			_exit(0);
		case SIGUSR1:
			log_info(NULL, "SIGUSR1: Reloading");
			reload_corefile(control, true);
			plan_check(control);
			break;
		case SIGUSR2:
			log_warn(NULL, "SIGUSR2: upgrade in place is not supported, "
				       "start the new program, then stop this one");
			break;
		default:
			break;
		}
	}
}

int control_run(const struct control_opts *opts)
{
	struct control c = { .opts = opts, .src = opts->src };
	sigset_t set;
	sigemptyset(&set);
	int handled[] = { SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGHUP };
	for (size_t i = 0; i < ARRAY_LEN(handled); i++)
		sigaddset(&set, handled[i]);
	/* Before any thread starts, so that all inherit it and only this one receives signals. */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	c.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (c.signals < 0) {
		log_error(NULL, "cannot wait for signals: %s", strerror(errno));
		return 1;
	}
	net_raise_file_limit();
	rng_init(&c.rng);
	c.src.watch = config_watch_new();
	int status = start_server(&c) < 0 ? 1 : run_events(&c);
	config_watch_free(c.src.watch);
	close(c.signals);
	return status;
}
