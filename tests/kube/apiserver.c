/* The embedded API alone, for tests: serves a data directory until its standard input ends, and
 *says where in a line of JSON.
 *
 * usage: kube-apiserver-embedded DIR [OPTION=NUMBER ...]
 *	wait_ms		for a version that is not there yet
 *	bookmark_ms	between bookmarks
 *	event_ttl_ms	of Events
 *	keep		changes of which history is kept at least */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "apiserver/front.h"
#include "apiserver/rest.h"
#include "apiserver/trust.h"
#include "base/clock.h"
#include "base/mem.h"
#include "http/service.h"
#include "http/tlscert.h"

struct all {
	struct apiserver_store_conf store_conf;
	struct apiserver_api_conf api_conf;
	struct apiserver_store *store;
	struct apiserver_api *api;
	struct apiserver_auth *auth;
	struct apiserver_trust trust;
	struct http_tls *tls;
	struct http_service *service;
	char err[512];
};

static void check(struct all *a, const char *what, int r)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s: %d %s\n", what, r, a->err);
	exit(1);
}

static void read_options(struct all *a, int n, char **v)
{
	for (int i = 0; i < n; i++) {
		const char *eq = strchr(v[i], '=');
		uint64_t value = eq != NULL ? strtoull(eq + 1, NULL, 10) : 0;
		if (strncmp(v[i], "wait_ms=", 8) == 0)
			a->api_conf.wait_ns = value * NS_PER_MS;
		else if (strncmp(v[i], "bookmark_ms=", 12) == 0)
			a->api_conf.bookmark_ns = value * NS_PER_MS;
		else if (strncmp(v[i], "event_ttl_ms=", 13) == 0)
			a->api_conf.event_ttl_ns = value * NS_PER_MS;
		else if (strncmp(v[i], "keep=", 5) == 0)
			a->store_conf.keep_revisions = value;
	}
}

static void backend_serve(void *ctx, const struct apiserver_call *c, struct apiserver_answer *ret)
{
	apiserver_serve(ctx, c, ret);
}

static void open_all(struct all *a)
{
	const struct apiserver_trust_conf trust = { .dir = a->store_conf.dir };
	check(a, "store", apiserver_store_open(&a->store_conf, &a->store, a->err, sizeof(a->err)));
	a->api_conf.store = a->store;
	a->api_conf.version = "0.0.0";
	check(a, "api", apiserver_api_new(&a->api_conf, &a->api, a->err, sizeof(a->err)));
	check(a, "auth", apiserver_auth_open(a->store_conf.dir, &a->auth, a->err, sizeof(a->err)));
	apiserver_trust_init(&a->trust);
	check(a, "trust",
	      apiserver_trust_renew(&a->trust, &trust, clock_wall_ns() / NS_PER_S, a->err,
				    sizeof(a->err)));
	check(a, "tls",
	      http_tls_new(strbuf_slice(&a->trust.cert), strbuf_slice(&a->trust.key), &a->tls,
			   a->err, sizeof(a->err)));
}

static void say(const struct all *a)
{
	CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT, ca = STRBUF_INIT;
	strbuf_addf(&url, "https://127.0.0.1:%u", http_service_port(a->service));
	apiserver_trust_bundle(&a->trust, &ca);
	json_t *o = json_pack("{ss,ss,ss,ss}", "url", url.s, "ca", ca.s, "user",
			      apiserver_auth_user_token(a->auth), "system",
			      apiserver_auth_system_token(a->auth));
	json_dumpf(o, stdout, JSON_COMPACT);
	printf("\n");
	fflush(stdout);
	json_decref(o);
}

int main(int argc, char **argv)
{
	struct all a = { .store_conf = { .dir = argc > 1 ? argv[1] : "" } };
	char byte;
	read_options(&a, argc - 2, argv + 2);
	open_all(&a);
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	const struct apiserver_backend backend = {
		.ctx = a.api,
		.serve = backend_serve,
		.done = apiserver_answer_done,
		.on_wake = apiserver_stream_on_wake,
		.pull = apiserver_stream_pull,
		.free = apiserver_stream_free,
	};
	struct apiserver_front front = {
		.auth = a.auth,
		.discovery = apiserver_discovery_new(rows, n, "0.0.0", "127.0.0.1"),
		.backend = &backend,
	};
	const struct http_service_conf conf = {
		.addr = "127.0.0.1:0",
		.tls = a.tls,
		.handle = apiserver_front_handle,
		.too_long = apiserver_front_too_long,
		.ctx = &front,
	};
	check(&a, "service", http_service_start(&conf, &a.service));
	say(&a);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	http_service_stop(a.service);
	apiserver_discovery_free(front.discovery);
	apiserver_api_free(a.api);
	apiserver_store_close(a.store);
	apiserver_auth_free(a.auth);
	apiserver_trust_done(&a.trust);
	http_tls_free(a.tls);
	return 0;
}
