/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A connection to the API server: an HTTP client of its own, or the socket of a server on this machine,
 * whose wait another thread can end at once. */
#include "kube/client/conn.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/vec.h"
#include "http/client/client.h"
#include "http/client/sync.h"
#include "kube/client/client_priv.h"
#include "kube/client/credential_priv.h"
#include "kube/client/local_call_priv.h"

/* ---- the reply ---- */

/* `"text"` of a Warning header's value: 299 - "text". */
static struct slice warning_text(struct slice value)
{
	ptrdiff_t open = slice_find(value, '"');
	if (!slice_starts(value, SLICE("299 ")) || open < 0)
		return (struct slice){ 0 };
	struct slice t = slice_from(value, (size_t)open + 1);
	while (t.n > 0 && t.p[t.n - 1] != '"')
		t.n--;
	return t.n > 0 ? (struct slice){ t.p, t.n - 1 } : t;
}

static void keep_warning(struct kube_conn *conn, struct slice value)
{
	struct slice t = warning_text(value);
	struct slice rest = strbuf_slice(&conn->warnings);
	if (t.n == 0 || conn->warnings.n + t.n + 1 > KUBE_WARNINGS_MAX_BYTES)
		return;
	while (rest.n != 0)
		if (slice_eq(slice_cut(&rest, '\n'), t))
			return;
	for (size_t i = 0; i < t.n; i++)
		strbuf_addc(&conn->warnings, (unsigned char)t.p[i] < ' ' ? ' ' : t.p[i]);
	strbuf_addc(&conn->warnings, '\n');
}

/* A part of the body of a 2xx goes to the caller; refusals are kept. */
static int take_data(struct http_call *call, struct slice bytes)
{
	struct kube_exchange *exchange = call->ctx;
	exchange->code = call->status;
	if (call->status >= 200 && call->status <= 299) {
		exchange->got_bytes = true;
		return exchange->data(exchange->ctx, bytes);
	}
	assert(exchange->error_body.n <= KUBE_ERROR_MAX_BYTES);
	size_t room = KUBE_ERROR_MAX_BYTES - exchange->error_body.n;
	strbuf_add(&exchange->error_body, bytes.p, MIN(bytes.n, room));
	return 0;
}

static void take_headers(struct kube_conn *conn, struct kube_exchange *exchange,
			 const struct http_call *call)
{
	struct slice value, audit_id = http_call_header(call, "Audit-Id", 0);
	for (size_t i = 0; (value = http_call_header(call, "Warning", i)).p != NULL; i++)
		keep_warning(conn, value);
	snprintf(exchange->audit_id, sizeof(exchange->audit_id), "%.*s",
		 (int)MIN(audit_id.n, (size_t)63), audit_id.n != 0 ? audit_id.p : "");
	exchange->has_retry_after = call->has_retry_after;
	exchange->retry_after_s = call->retry_after_s;
}

static void take_outcome(struct kube_conn *conn, struct kube_exchange *exchange,
			 const struct http_call *call)
{
	exchange->code = call->status;
	take_headers(conn, exchange, call);
	if (call->result == 0)
		return;
	exchange->reset = call->reset;
	err_text_set(ERR_TEXT(exchange->error), "%s%s", call->error,
		     call->untrusted && conn->tls->system_ca
			     ? ", and the kubeconfig names no certificate-authority"
			     : "");
	/* Files may have been renewed since they were read; with TLS 1.3 a server that refuses our
	 * certificate says so after the handshake. */
	if (call->result == ERR_TLS || (call->status == 0 && call->result != -ECANCELED))
		conn->tls_suspect = true;
}

/* ---- the request ---- */

struct header_list {
	VEC(struct http_header) all;
};

static void add_header(struct header_list *list, const char *name, struct slice value)
{
	vec_push(&list->all, (struct http_header){ slice_of(name), value });
}

/* All point into the exchange, the client or its configuration, but the token, which is copied. */
static void collect_headers(const struct kube_conn *conn, const struct kube_exchange *exchange,
			    const char *bearer, struct header_list *out)
{
	const struct kube_config *conf = conn->client->config;
	add_header(out, "Accept",
		   slice_of(exchange->accept != NULL ? exchange->accept : "application/json"));
	if (conn->client->host != NULL)
		add_header(out, "Host", slice_of(conn->client->host));
	if (exchange->body.p != NULL)
		add_header(out, "Content-Type", slice_of(exchange->content_type));
	if (exchange->token.n != 0)
		add_header(out, "Authorization", slice_of(bearer));
	for (size_t i = 0; i < conf->headers.n; i++) {
		struct slice value = slice_of(conf->headers.v[i]);
		struct slice name = slice_cut(&value, ':');
		vec_push(&out->all, (struct http_header){ name, slice_trim(value) });
	}
}

/* Switches to the newest certificates; a change means a new connection. */
static int refresh_tls(struct kube_conn *conn, struct kube_exchange *exchange, bool *ret_changed)
{
	struct kube_tls *t = NULL;
	int r = kube_config_tls(conn->client->config, conn->tls_suspect, &conn->cancelled, &t,
				ERR_TEXT(exchange->error));
	if (r < 0) {
		kube_exchange_name_server(exchange, conn->client);
		return r;
	}
	*ret_changed = conn->tls != NULL && conn->tls != t;
	kube_tls_unref(conn->tls);
	conn->tls = t;
	conn->tls_suspect = false;
	return 0;
}

static void reset_exchange(struct kube_conn *conn, struct kube_exchange *exchange)
{
	assert(exchange->method != NULL && exchange->path != NULL && exchange->data != NULL);
	exchange->code = 0;
	exchange->got_bytes = exchange->has_retry_after = exchange->reset = false;
	exchange->retry_after_s = 0;
	exchange->audit_id[0] = exchange->error[0] = '\0';
	strbuf_reset(&exchange->error_body);
	strbuf_reset(&conn->warnings);
}

static uint64_t remaining_ns(uint64_t end_ns)
{
	uint64_t now = clock_mono_ns();
	if (end_ns == 0)
		return HTTP_NEVER;
	return end_ns > now ? end_ns - now : 1;
}

static int send_request(struct kube_conn *conn, struct kube_exchange *exchange,
			const struct header_list *headers, bool fresh)
{
	const struct kube_tls *tls = conn->tls;
	CLEANUP(freep) char *url = xasprintf("%s%s", conn->client->url, exchange->path);
	const struct http_client_tls paths = { tls->ca_path, tls->cert_path, tls->key_path,
					       conn->client->config->insecure };
	struct http_call call = {
		.method = exchange->method,
		.url = url,
		.headers = headers->all.v,
		.n_headers = headers->all.n,
		.body = exchange->body,
		.gzip = exchange->gzip,
		.fresh = fresh,
		.tls = &paths,
		.proxy = conn->client->config->proxy,
		.connect_to = conn->client->connect_to,
		.unix_path = conn->client->unix_path,
		.redirects = HTTP_REDIRECTS_REFUSE,
		.stall_ns = exchange->idle_ns != 0 ? exchange->idle_ns : HTTP_NEVER,
		.timeout_ns = remaining_ns(exchange->end_ns),
		.reply_max = SIZE_MAX, /* the exchange's own reader has one */
		.data = take_data,
		.ctx = exchange,
	};
	int r = conn->local != NULL ? kube_local_call(conn->local, &call, &conn->cancelled)
				    : http_sync_call(conn->http, &call, &conn->cancelled);
	take_outcome(conn, exchange, &call);
	http_call_release(&call);
	return r;
}

int kube_conn_exchange(struct kube_conn *conn, struct kube_exchange *exchange)
{
	bool changed = false;
	struct header_list headers = { 0 };
	CLEANUP(secret_wipe_strbuf) struct strbuf bearer = STRBUF_INIT;
	reset_exchange(conn, exchange);
	int r = refresh_tls(conn, exchange, &changed);
	if (r < 0)
		return r;
	strbuf_adds(&bearer, "Bearer ");
	strbuf_add_slice(&bearer, exchange->token);
	collect_headers(conn, exchange, bearer.s, &headers);
	r = send_request(conn, exchange, &headers, changed);
	vec_done(&headers.all);
	return r;
}

void kube_exchange_name_server(struct kube_exchange *exchange, const struct kube_client *client)
{
	char text[sizeof(exchange->error)];
	snprintf(text, sizeof(text), "%s", exchange->error);
	err_text_set(ERR_TEXT(exchange->error), "%s: %s", client->config->server, text);
}

void kube_exchange_done(struct kube_exchange *exchange)
{
	strbuf_done(&exchange->error_body);
}

int kube_conn_sleep(struct kube_conn *conn, uint64_t ns)
{
	return conn->local != NULL ? kube_local_sleep(conn->local, ns, &conn->cancelled)
				   : http_sync_sleep(conn->http, ns, &conn->cancelled);
}

/* ---- public ---- */

struct kube_conn *kube_conn_new(struct kube_client *client, struct err_text err)
{
	/* One connection, so that one with old certificates does not outlive the next. */
	static const struct http_client_conf conf = { .kept_max = 1 };
	struct kube_conn *c = xcalloc(1, sizeof(*c));
	c->client = client;
	strbuf_init(&c->warnings);
	if (client->unix_path != NULL)
		c->local = kube_local_new(err);
	else
		c->http = http_client_new(NULL, &conf, err);
	if (c->http != NULL || c->local != NULL)
		return c;
	kube_conn_free(c);
	return NULL;
}

void kube_conn_free(struct kube_conn *conn)
{
	if (conn == NULL)
		return;
	http_client_free(conn->http);
	kube_local_free(conn->local);
	kube_tls_unref(conn->tls);
	strbuf_done(&conn->warnings);
	free(conn);
}

struct kube_client *kube_conn_client(const struct kube_conn *conn)
{
	return conn->client;
}

void kube_conn_cancel(struct kube_conn *conn)
{
	atomic_store(&conn->cancelled, true);
	if (conn->local != NULL)
		kube_local_wake(conn->local);
	else
		http_sync_wake(conn->http);
	kube_config_wake(conn->client->config);
}

void kube_conn_set_patient(struct kube_conn *conn, bool patient)
{
	conn->patient = patient;
}

void kube_conn_set_write_limit(struct kube_conn *conn, struct kube_write_limit *limit)
{
	conn->writes = limit;
}

const char *kube_conn_warnings(const struct kube_conn *conn)
{
	return conn->warnings.s;
}
