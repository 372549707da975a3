/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client: the address of the API server, and requests with their retries. */
#include "kube/client/client.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_text.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "http/client/url.h"
#include "kube/client/client_priv.h"
#include "kube/client/credential_priv.h"
#include "kube/client/status_priv.h"
#include "kube/client/write_limit.h"

enum { DEFAULT_TIMEOUT_S = 60 };

/* ---- the address ---- */

/* The name in the URL is verified: so the URL has it, and the real host is where to connect. */
static void use_tls_name(struct kube_client *client, const struct http_url *server)
{
	const char *authority = strstr(client->config->server, "://") + 3;
	client->url = xasprintf("https://%s:%u%s", client->config->tls_name, server->port,
				server->rest.p);
	client->connect_to =
		xasprintf("%.*s:%u", (int)server->host.n, server->host.p, server->port);
	client->host = xstrndup(authority, (size_t)(server->rest.p - authority));
}

struct kube_client *kube_client_new(struct kube_config *config)
{
	struct kube_client *c = xcalloc(1, sizeof(*c));
	struct http_url server;
	c->config = config;
	c->text = xasprintf("%s (%s)", config->server, config->origin);
	if (strncmp(config->server, KUBE_UNIX_SCHEME, strlen(KUBE_UNIX_SCHEME)) == 0) {
		c->url = xstrdup("http://localhost");
		c->unix_path = config->server + strlen(KUBE_UNIX_SCHEME);
		return c;
	}
	/* A URL that is not one is refused by each request. */
	if (config->tls_name != NULL &&
	    http_url_parse(config->server, &server, (struct err_text){ 0 }) == 0 && server.tls)
		use_tls_name(c, &server);
	else
		c->url = xstrdup(config->server);
	return c;
}

void kube_client_free(struct kube_client *client)
{
	if (client == NULL)
		return;
	kube_config_free(client->config);
	free(client->text);
	free(client->url);
	free(client->connect_to);
	free(client->host);
	free(client);
}

const char *kube_client_text(const struct kube_client *client)
{
	return client->text;
}

bool kube_client_is_local(const struct kube_client *client)
{
	return client->unix_path != NULL;
}

struct kube_config *kube_client_config(const struct kube_client *client)
{
	return client->config;
}

/* ---- retries ---- */

struct attempt {
	unsigned retries;
	bool token_renewed, reset_once;
};

/* What to do with how it went: 1 again, 0 that was it, negative: stop with this code. */
static int retry_after_answer(struct kube_conn *conn, struct kube_exchange *exchange,
			      struct attempt *attempt)
{
	bool server = exchange->code == 429 || (exchange->code >= 500 && exchange->code <= 599);
	uint64_t wait = (uint64_t)exchange->retry_after_s * NS_PER_S;
	if (exchange->code == 401 && !attempt->token_renewed &&
	    kube_config_renewable(conn->client->config)) {
		attempt->token_renewed = true;
		conn->tls_suspect = true; /* or the certificate is what was too old */
		return 1;
	}
	if (!server || !exchange->has_retry_after || attempt->retries == KUBE_RETRIES_MAX ||
	    exchange->retry_after_s > KUBE_RETRY_AFTER_MAX_S)
		return 0;
	if (exchange->end_ns != 0 && clock_mono_ns() + wait >= exchange->end_ns)
		return 0;
	attempt->retries++;
	int r = kube_conn_sleep(conn, wait);
	return r < 0 ? r : 1;
}

static bool may_retry_failure(const struct kube_exchange *exchange, struct attempt *attempt)
{
	if (!exchange->reset || attempt->reset_once || strcmp(exchange->method, "GET") != 0)
		return false;
	if (exchange->got_bytes && exchange->restart == NULL)
		return false;
	attempt->reset_once = true;
	return true;
}

static int try_once(struct kube_conn *conn, struct kube_exchange *exchange, bool fresh,
		    uint64_t *asked_ns)
{
	CLEANUP(secret_wipe_strbuf) struct strbuf token = STRBUF_INIT;
	const struct kube_token_ask ask = { fresh, *asked_ns, &conn->cancelled };
	int r = kube_config_token(conn->client->config, &ask, &token, ERR_TEXT(exchange->error));
	if (r < 0) {
		kube_exchange_name_server(exchange, conn->client);
		return r;
	}
	*asked_ns = clock_mono_ns();
	if (exchange->got_bytes) {
		assert(exchange->restart != NULL);
		exchange->restart(exchange->ctx);
	}
	exchange->token = strbuf_slice(&token);
	r = kube_conn_exchange(conn, exchange);
	exchange->token = (struct slice){ 0 };
	return r;
}

/* The result for the caller, and its text. */
static int report_result(struct kube_conn *conn, struct kube_exchange *exchange, int ret,
			 struct kube_status *reterr)
{
	struct kube_status dummy = { 0 };
	struct kube_status *s = reterr != NULL ? reterr : &dummy;
	*s = (struct kube_status){ 0 };
	if (ret == 0 && exchange->code >= 200 && exchange->code <= 299)
		return 0;
	if (ret == 0) {
		ret = kube_status_from(s, exchange->code, strbuf_slice(&exchange->error_body),
				       exchange->audit_id);
		if (exchange->has_retry_after)
			s->retry_after_s = exchange->retry_after_s;
	} else {
		if (exchange->error[0] == '\0') {
			err_text_set(ERR_TEXT(exchange->error), "%s", err_str(ret));
			kube_exchange_name_server(exchange, conn->client);
		}
		kube_status_set_text(s, exchange->error);
	}
	kube_status_done(&dummy);
	return ret;
}

/* A write waits its turn, if there is a limit. */
static int wait_turn(struct kube_conn *conn, const struct kube_exchange *exchange)
{
	if (conn->writes == NULL || strcmp(exchange->method, "GET") == 0)
		return 0;
	uint64_t wait = kube_write_limit_take(conn->writes, conn->patient, clock_mono_ns());
	return wait != 0 ? kube_conn_sleep(conn, wait) : 0;
}

int kube_conn_request(struct kube_conn *conn, struct kube_exchange *exchange,
		      struct kube_status *reterr)
{
	struct attempt a = { 0 };
	uint64_t asked_ns = 0;
	bool fresh = false;
	int r = wait_turn(conn, exchange), again = r == 0 ? 1 : r;
	while (again > 0) {
		bool renewed = a.token_renewed;
		r = try_once(conn, exchange, fresh, &asked_ns);
		again = r == 0 ? retry_after_answer(conn, exchange, &a)
			       : may_retry_failure(exchange, &a);
		fresh = a.token_renewed && !renewed;
	}
	exchange->error[0] = again < 0 ? '\0' : exchange->error[0];
	return report_result(conn, exchange, again < 0 ? again : r, reterr);
}

/* ---- one request, one answer ---- */

static int keep_answer(void *ctx, struct slice bytes)
{
	struct strbuf *b = ctx;
	if (b->n + bytes.n > KUBE_ANSWER_MAX_BYTES)
		return ERR_LIMIT;
	strbuf_add_slice(b, bytes);
	return 0;
}

static void drop_answer(void *ctx)
{
	strbuf_reset(ctx);
}

static void set_unusable(struct kube_status *reterr, int code, const char *text)
{
	if (reterr == NULL)
		return;
	kube_status_set_text(reterr, text);
	reterr->code = code;
}

static const char not_an_object[] = "the response is not an API object";

static int decode_answer(struct slice text, bool identity, int code, json_t **ret,
			 struct kube_status *reterr)
{
	json_error_t e;
	json_t *v = identity ? api_json_load_identity(text) : NULL;
	if (v == NULL)
		v = api_json_load(text, JSON_DECODE_ANY, &e);
	if (v == NULL) {
		char what[320];
		snprintf(what, sizeof(what), "the answer is not JSON: %s", e.text);
		set_unusable(reterr, code, what);
		return ERR_PARSE;
	}
	/* Callers read and change members: anything else would be misused. */
	if (!json_is_object(v)) {
		json_decref(v);
		set_unusable(reterr, code, not_an_object);
		return ERR_PARSE;
	}
	*ret = v;
	return 0;
}

/* The caller searches the text: it has to be an object, at least by its ends. */
static int give_text(struct slice text, int code, struct strbuf *ret, struct kube_status *reterr)
{
	struct slice object = slice_trim(text);
	if (object.n < 2 || object.p[0] != '{' || object.p[object.n - 1] != '}') {
		set_unusable(reterr, code, not_an_object);
		return ERR_PARSE;
	}
	strbuf_add_slice(ret, object);
	return 0;
}

/* False: no object or patch, or text in it that is not UTF-8. */
static bool write_body(const json_t *body, struct strbuf *out)
{
	return (json_is_object(body) || json_is_array(body)) && api_json_add(out, body);
}

int kube_call(struct kube_conn *conn, const struct kube_request *request, json_t **ret,
	      struct kube_status *reterr)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT, body = STRBUF_INIT;
	uint64_t limit =
		request->timeout_ns != 0 ? request->timeout_ns : DEFAULT_TIMEOUT_S * NS_PER_S;
	struct kube_exchange x = {
		.method = request->method,
		.path = request->path,
		.body = request->raw,
		.content_type =
			request->content_type != NULL ? request->content_type : "application/json",
		.accept = request->accept,
		.gzip = strcmp(request->method, "GET") == 0,
		.end_ns = clock_mono_ns() + limit,
		.data = keep_answer,
		.restart = drop_answer,
		.ctx = &text,
		.error_body = STRBUF_INIT,
	};
	if (request->body != NULL && !write_body(request->body, &body)) {
		if (reterr != NULL)
			*reterr = (struct kube_status){ .message = "the body cannot be written" };
		return ERR_PARSE;
	}
	if (request->body != NULL)
		x.body = strbuf_slice(&body);
	int e = kube_conn_request(conn, &x, reterr);
	/* An exec plugin, too, may have printed too much: that is no answer. */
	if (e == ERR_LIMIT && x.code >= 200 && x.code <= 299)
		set_unusable(reterr, x.code, "the answer is longer than the limit of 16 MiB");
	kube_exchange_done(&x);
	if (e == 0 && request->answer_text != NULL)
		e = give_text(strbuf_slice(&text), x.code, request->answer_text, reterr);
	if (e == 0 && ret != NULL)
		e = decode_answer(strbuf_slice(&text), request->identity, x.code, ret, reterr);
	return e;
}
