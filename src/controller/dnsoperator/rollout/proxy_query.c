/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries pods through the API server, with a few threads that have a connection each. */
#include "controller/dnsoperator/rollout/proxy_query.h"
#include "controller/dnsoperator/rollout/proxy_query_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "corefile/corefile.h"
#include "kube/client/client.h"
#include "base/crypto/digest.h"

#define TRY_NS (2 * NS_PER_S)

enum { THREADS = 8, PATH_MAX_BYTES = 640 };

/* ---- hashes ---- */

/* The hash that a server computes of the Corefile it has parsed. */
static int hash_running(struct slice text, char ret[DNSOPERATOR_PROXY_HASH_MAX])
{
	CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
	uint8_t digest[DIGEST_SHA512_BYTES];
	struct corefile *cf = NULL;
	int r = corefile_parse("Corefile", text, NULL, &cf, NULL);
	if (r < 0)
		return r;
	corefile_json(cf, &json);
	corefile_free(cf);
	digest_sha512(json.s, json.n, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(ret + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

static const struct dnsoperator_corefile_hashes *find_corefile(
	const struct dnsoperator_known_corefiles *texts, const char *running)
{
	for (size_t i = 0; i < DNSOPERATOR_COREFILES_MAX; i++) {
		if (running[0] != '\0' && strcmp(texts->v[i].running, running) == 0)
			return &texts->v[i];
	}
	return NULL;
}

void dnsoperator_corefiles_add(struct dnsoperator_known_corefiles *texts, struct slice text,
			       const char *hash)
{
	struct dnsoperator_corefile_hashes n = { 0 };
	/* No server runs a Corefile that does not parse. */
	if (hash_running(text, n.running) < 0 || find_corefile(texts, n.running) != NULL)
		return;
	snprintf(n.hash, sizeof(n.hash), "%s", hash);
	texts->v[texts->next] = n;
	texts->next = (texts->next + 1) % DNSOPERATOR_COREFILES_MAX;
}

void dnsoperator_corefiles_translate(const struct dnsoperator_known_corefiles *texts,
				     const char *running, struct dnsoperator_marker_answer *ack)
{
	const struct dnsoperator_corefile_hashes *n = find_corefile(texts, running);
	if (ack->kind != DNSOPERATOR_MARKER_FOUND)
		return;
	snprintf(ack->hash, sizeof(ack->hash), "%.*s", (int)sizeof(ack->hash) - 1,
		 n != NULL ? n->hash : running);
}

/* ---- answers ---- */

/* What a failed request means. Errors of the API server itself have a reason; those that it forwards
 * from a pod have none. */
static const struct {
	int code; /* of HTTP; 0: any */
	bool of_api;
	int r; /* of the request; 0: any */
	const char *why;
} refusals[] = {
	{ 401, true, 0, "The API server does not accept the credentials of --kubeconfig." },
	{ 403, true, 0,
	  "The API server does not allow pods/proxy: apply deploy/rbac/dnsoperator-hosted.yaml." },
	{ 404, true, 0, "These pods no longer exist." },
	{ 404, false, 0,
	  "They do not serve /config at port 8181, so they are not `fairlead dns`, or an old "
	  "version: CoreDNS can be polled over DNS only (--dns-ask dns, from where the pods can be "
	  "reached)." },
	{ 503, true, 0,
	  "The API server cannot reach port 8181 of these pods: allow it, or its konnectivity "
	  "agents, in network policies, and check the tunnel to the nodes." },
	{ 0, false, ERR_TIMEOUT,
	  "The API server got no answer from port 8181 of these pods within 2 s: allow it, or its "
	  "konnectivity agents, in network policies, and check the tunnel to the nodes." },
	{ 0, false, ERR_CLOSED, "The API server of --kubeconfig cannot be reached." },
	{ 0, false, 0, "The API server did not forward the request to port 8181 of these pods." },
};

static const char *why_of(int ret, const struct kube_status *st)
{
	size_t i = 0;
	bool of_api = st->reason[0] != '\0';
	while (i + 1 < ARRAY_LEN(refusals) &&
	       !(refusals[i].code != 0
			 ? refusals[i].code == st->code && refusals[i].of_api == of_api
			 : refusals[i].r == ret))
		i++;
	return refusals[i].why;
}

static bool is_hash(struct slice body)
{
	enum { DIGITS = DNSOPERATOR_PROXY_HASH_MAX - 1 };
	if (body.n != DIGITS + 1 || body.p[DIGITS] != '\n')
		return false;
	for (size_t i = 0; i < DIGITS; i++) {
		if ((body.p[i] < '0' || body.p[i] > '9') && (body.p[i] < 'a' || body.p[i] > 'f'))
			return false;
	}
	return true;
}

void dnsoperator_proxy_read(int result, const struct kube_status *st, struct slice body,
			    char ret_running[DNSOPERATOR_PROXY_HASH_MAX],
			    struct dnsoperator_marker_answer *ret)
{
	*ret = (struct dnsoperator_marker_answer){ .kind = DNSOPERATOR_MARKER_UNREACHABLE };
	ret_running[0] = '\0';
	if (result == ERR_LIMIT || (result == 0 && !is_hash(body))) {
		ret->why = "Port 8181 of these pods answers, but not as `fairlead dns` does.";
	} else if (result < 0) {
		ret->why = why_of(result, st);
	} else {
		ret->kind = DNSOPERATOR_MARKER_FOUND;
		snprintf(ret_running, DNSOPERATOR_PROXY_HASH_MAX, "%.*s",
			 DNSOPERATOR_PROXY_HASH_MAX - 1, body.p);
	}
	snprintf(ret->text, sizeof(ret->text), "%.*s", (int)sizeof(ret->text) - 1,
		 result < 0 ? st->message : "");
}

/* ---- questions ---- */

struct pull {
	const char *ns;
	const char *const *names;
	size_t n;
	struct dnsoperator_proxy_answer *ret;
	_Atomic size_t next;
};

static int keep_body(void *ctx, struct slice bytes)
{
	struct strbuf *b = ctx;
	if (b->n + bytes.n > DNSOPERATOR_PROXY_BODY_MAX)
		return ERR_LIMIT;
	strbuf_add_slice(b, bytes);
	return 0;
}

static int ask_one(struct kube_conn *conn, const struct pull *pull, size_t index)
{
	CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
	struct kube_status st = { 0 };
	char path[PATH_MAX_BYTES];
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s:%d/proxy/config", pull->ns,
		 pull->names[index], DNSOPERATOR_PROXY_PORT);
	struct kube_stream s = {
		.path = path, .timeout_ns = TRY_NS, .data = keep_body, .ctx = &body
	};
	int r = kube_stream(conn, &s, &st);
	dnsoperator_proxy_read(r, &st, strbuf_slice(&body), pull->ret[index].running,
			       &pull->ret[index].ack);
	kube_status_done(&st);
	return r;
}

/* Queries pods until none is left. */
static void ask_rest(struct kube_conn *conn, struct pull *pull)
{
	for (size_t i; (i = atomic_fetch_add(&pull->next, 1)) < pull->n;) {
		if (ask_one(conn, pull, i) == -ECANCELED)
			atomic_store(&pull->next, pull->n);
	}
}

struct helper {
	pthread_t thread;
	struct kube_conn *conn;
	struct pull *pull;
};

static void *run_helper(void *arg)
{
	struct helper *h = arg;
	ask_rest(h->conn, h->pull);
	return NULL;
}

/* False when no more threads can be started: the others query all pods. */
static bool start_helper(struct helper *helper, struct kube_client *client, struct pull *pull)
{
	char err[128];
	helper->pull = pull;
	helper->conn = kube_conn_new(client, ERR_TEXT(err));
	if (helper->conn == NULL ||
	    pthread_create(&helper->thread, NULL, run_helper, helper) != 0) {
		kube_conn_free(helper->conn);
		return false;
	}
	return true;
}

void dnsoperator_proxy_query(struct kube_conn *conn, const char *ns, const char *const *names,
			     size_t len, struct dnsoperator_proxy_answer *ret)
{
	struct helper helpers[THREADS - 1];
	struct pull p = { .ns = ns, .names = names, .n = len, .ret = ret };
	size_t more = 0;
	for (size_t i = 0; i < len; i++)
		ret[i] = (struct dnsoperator_proxy_answer){
			.ack = { .kind = DNSOPERATOR_MARKER_UNREACHABLE }
		};
	while (more < ARRAY_LEN(helpers) && more + 1 < len &&
	       start_helper(&helpers[more], kube_conn_client(conn), &p))
		more++;
	ask_rest(conn, &p);
	for (size_t i = 0; i < more; i++) {
		pthread_join(helpers[i].thread, NULL);
		kube_conn_free(helpers[i].conn);
	}
}
