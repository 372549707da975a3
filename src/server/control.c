/* Signals as CoreDNS takes them (spec 1.0 "CLI"): TERM and INT end in order, with lameduck; a
 * second INT exits 2; QUIT exits at once; USR1 reloads; HUP is ignored. The `reload` plugin's
 * interval makes the same reload happen when the text has changed. */
#include "server/control.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/rng.h"
#include "corefile/corefile.h"
#include "net/digest.h"
#include "net/sock.h"
#include "server/confload.h"

enum { STOP_GRACE_S = 5 };

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

struct hash_text {
	char s[2 * NET_SHA512_BYTES + 1];
};

struct control {
	const struct control_opts *o;
	struct server *srv;
	struct hash_text live;	/* of the configuration that serves */
	struct hash_text tried; /* of the last one tried, good or bad */
	uint64_t next_check_ns; /* 0: reload is off */
	struct rng rng;
};

static struct hash_text hash_of(const struct corefile *cf)
{
	CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
	uint8_t digest[NET_SHA512_BYTES];
	struct hash_text t;
	corefile_json(cf, &json);
	net_sha512(json.s, json.n, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(t.s + 2 * i, 3, "%02x", digest[i]);
	return t;
}

static void plan_check(struct control *c)
{
	int64_t interval, jitter;
	server_reload_interval(c->srv, &interval, &jitter);
	if (interval == 0) {
		c->next_check_ns = 0;
		return;
	}
	/* interval ± jitter/2, as CoreDNS draws it */
	int64_t drawn = jitter > 0 ? (int64_t)(rng_u64(&c->rng) % (uint64_t)jitter) : 0;
	c->next_check_ns = clock_mono_ns() + (uint64_t)(interval + drawn - jitter / 2);
}

static void fatal(const struct srcerr *err)
{
	char text[1024];
	srcerr_str(err, text, sizeof(text));
	if (log_get_format() == LOG_JSON)
		log_msg(LOG_FATAL, NULL, "%s", text);
	else
		fprintf(stderr, "%s\n", text);
}

static void print_banner(const struct control *c)
{
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	if (c->o->quiet)
		return;
	server_print_zones(c->srv, &t);
	while (t.n > 0 && t.s[t.n - 1] == '\n')
		t.s[--t.n] = '\0';
	if (log_get_format() == LOG_JSON) {
		log_info(NULL, "%s", t.s);
		log_info(NULL, "%s", c->o->version);
		return;
	}
	printf("%s\n%s\n", t.s, c->o->version);
	fflush(stdout);
}

static void failed(struct control *c, const char *who, const struct srcerr *err)
{
	char text[1024];
	(void)c;
	log_error(NULL, "%s: reload failed, the old configuration serves on: %s", who,
		  srcerr_str(err, text, sizeof(text)));
	metrics_add(metrics_get(&reload_failed_family, NULL), 0, 1);
}

static void set_version_info(struct control *c)
{
	const char *values[] = { "sha512", c->live.s };
	metrics_drop_family(&reload_version_family);
	metrics_set(metrics_get(&reload_version_family, values), 1);
}

/* `only_changed`: do nothing when the text is the one tried last. */
static void reload(struct control *c, const char *who, bool only_changed)
{
	struct corefile *cf = NULL;
	struct srcerr err = { 0 };
	int r = confload(&c->o->src, &cf, &err);
	if (r < 0) {
		/* A text that does not parse has no hash: say it once, not at every look. */
		struct hash_text bad = { 0 };
		snprintf(bad.s, sizeof(bad.s), "%.120s", err.text);
		if (!only_changed || strcmp(bad.s, c->tried.s) != 0)
			failed(c, who, &err);
		c->tried = bad;
		return;
	}
	struct hash_text h = hash_of(cf);
	if (only_changed && strcmp(h.s, c->tried.s) == 0) {
		corefile_free(cf);
		return;
	}
	log_info(NULL, "Reloading");
	c->tried = h;
	r = server_reload(c->srv, cf, &err);
	if (r < 0) {
		failed(c, who, &err);
		return;
	}
	c->live = h;
	set_version_info(c);
	log_info("plugin/reload", "Running configuration SHA512 = %s", h.s);
	log_info(NULL, "Reloading complete");
}

static int write_pidfile(const char *path, struct srcerr *err)
{
	FILE *f = fopen(path, "we");
	if (f == NULL)
		return srcerr_set(err, (struct srcpos){ 0 }, "cannot write '%s': %s", path,
				  strerror(errno));
	fprintf(f, "%d\n", (int)getpid());
	fclose(f);
	return 0;
}

static int start(struct control *c)
{
	struct corefile *cf = NULL;
	struct srcerr err = { 0 };
	int r = confload(&c->o->src, &cf, &err);
	if (r == 0) {
		c->live = c->tried = hash_of(cf);
		r = server_start(&c->o->server, cf, &c->srv, &err);
	}
	if (r == 0 && c->o->pidfile != NULL) {
		r = write_pidfile(c->o->pidfile, &err);
		if (r < 0)
			server_stop(c->srv, 0);
	}
	if (r < 0) {
		fatal(&err);
		return r;
	}
	print_banner(c);
	plan_check(c);
	if (c->next_check_ns != 0)
		log_info("plugin/reload", "Running configuration SHA512 = %s", c->live.s);
	return 0;
}

/* The next signal, or 0 when it is time to look at the configuration. */
static int next_signal(const struct control *c, const sigset_t *set)
{
	if (c->next_check_ns == 0)
		return sigwaitinfo(set, NULL);
	uint64_t now = clock_mono_ns();
	uint64_t left = c->next_check_ns > now ? c->next_check_ns - now : 0;
	struct timespec ts = { .tv_sec = (time_t)(left / NS_PER_S),
			       .tv_nsec = (long)(left % NS_PER_S) };
	int sig = sigtimedwait(set, NULL, &ts);
	return sig < 0 && errno == EAGAIN ? 0 : sig;
}

/* Serves on for the lameduck time; a further INT or QUIT cuts it short. Exit status or -1. */
static int lameduck(const struct control *c, const sigset_t *set)
{
	int64_t ns = server_lameduck_ns(c->srv);
	if (ns <= 0)
		return -1;
	char text[32];
	log_info("plugin/health", "Going into lameduck mode for %s",
		 duration_str(ns, text, sizeof(text)));
	uint64_t until = clock_mono_ns() + (uint64_t)ns;
	struct control wait = { .next_check_ns = until };
	for (;;) {
		int sig = next_signal(&wait, set);
		if (sig == 0)
			return -1;
		if (sig == SIGINT)
			return 2;
		if (sig == SIGQUIT)
			return 0;
	}
}

static int shut_down(struct control *c, const char *who, const sigset_t *set)
{
	log_info(NULL, "%s: Shutting down servers then terminating", who);
	server_begin_shutdown(c->srv);
	int status = lameduck(c, set);
	if (status >= 0)
		_exit(status);
	server_stop(c->srv, STOP_GRACE_S * NS_PER_S);
	if (c->o->pidfile != NULL)
		unlink(c->o->pidfile);
	return 0;
}

int control_run(const struct control_opts *o)
{
	struct control c = { .o = o };
	sigset_t set;
	sigemptyset(&set);
	int handled[] = { SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGHUP };
	for (size_t i = 0; i < ARRAY_LEN(handled); i++)
		sigaddset(&set, handled[i]);
	/* Before any thread starts, so that all inherit it and only this one takes signals. */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	net_raise_file_limit();
	rng_init(&c.rng);
	if (start(&c) < 0)
		return 1;
	for (;;) {
		switch (next_signal(&c, &set)) {
		case 0:
			reload(&c, "reload", true);
			plan_check(&c);
			break;
		case SIGTERM:
			return shut_down(&c, "SIGTERM", &set);
		case SIGINT:
			return shut_down(&c, "SIGINT", &set);
		case SIGQUIT:
			log_info(NULL, "SIGQUIT: Quitting process immediately");
			_exit(0);
		case SIGUSR1:
			log_info(NULL, "SIGUSR1: Reloading");
			reload(&c, "SIGUSR1", false);
			plan_check(&c);
			break;
		case SIGUSR2:
			log_warn(NULL, "SIGUSR2: upgrade in place is not supported, "
				       "start the new program beside this one and end this one");
			break;
		default:
			break;
		}
	}
}
