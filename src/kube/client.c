/* The client: where to, and requests with their retries. */
#include "kube/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "kube/conn_priv.h"

enum { DEFAULT_TIMEOUT_S = 60 };

/* ---- where to ---- */

/* host[:port] of the URL, what stands behind in *rest. */
static struct slice authority(const char *url, struct slice *rest)
{
	const char *p = strstr(url, "://") + 3;
	size_t n = strcspn(p, "/");
	*rest = slice_of(p + n);
	return (struct slice){ p, n };
}

static struct slice port_of(struct slice authority_text, bool tls)
{
	for (size_t i = authority_text.n; i-- > 0 && authority_text.p[i] != ']';)
		if (authority_text.p[i] == ':')
			return slice_from(authority_text, i + 1);
	return tls ? SLICE("443") : SLICE("80");
}

static struct slice host_of(struct slice a)
{
	for (size_t i = a.n; i-- > 0 && a.p[i] != ']';)
		if (a.p[i] == ':')
			return (struct slice){ a.p, i };
	return a;
}

/* As Go: the environment's proxy is not for this machine itself. */
static bool is_loopback(struct slice host)
{
	return slice_is(host, "localhost") || slice_is(host, "[::1]") ||
	       slice_starts(host, SLICE("127."));
}

/* libcurl verifies the name in the URL: so the URL has it, and the real host is where to connect.
 */
static void use_tls_name(struct kube_client *c, struct slice a, struct slice rest)
{
	struct slice port = port_of(a, true), host = host_of(a);
	c->url = xasprintf("https://%s:%.*s%s", c->config->tls_name, (int)port.n, port.p, rest.p);
	c->connect_to = xasprintf("::%.*s:%.*s", (int)host.n, host.p, (int)port.n, port.p);
	c->host = xasprintf("Host: %.*s", (int)a.n, a.p);
}

struct kube_client *kube_client_new(struct kube_config *config)
{
	struct kube_client *c = xcalloc(1, sizeof(*c));
	struct slice rest;
	struct slice a = authority(config->server, &rest);
	c->config = config;
	kube_bucket_init(&c->writes);
	c->text = xasprintf("%s (%s)", config->server, config->origin);
	if (config->tls_name != NULL && strncmp(config->server, "https://", 8) == 0)
		use_tls_name(c, a, rest);
	else
		c->url = xstrdup(config->server);
	c->no_proxy = config->proxy != NULL || is_loopback(host_of(a));
	return c;
}

void kube_client_free(struct kube_client *c)
{
	if (c == NULL)
		return;
	kube_config_free(c->config);
	kube_bucket_done(&c->writes);
	free(c->text);
	free(c->url);
	free(c->connect_to);
	free(c->host);
	free(c);
}

void kube_client_limit_writes(struct kube_client *c, unsigned per_s, unsigned burst)
{
	kube_bucket_set(&c->writes, per_s, burst);
}

const char *kube_client_text(const struct kube_client *c)
{
	return c->text;
}

struct kube_config *kube_client_config(const struct kube_client *c)
{
	return c->config;
}

/* ---- retries ---- */

struct attempt {
	unsigned retries;
	bool token_renewed, reset_once;
};

/* What to do with how it went: 1 again, 0 that was it, negative: stop with this code. */
static int after_answer(struct kube_conn *c, struct kube_exchange *x, struct attempt *a)
{
	bool server = x->code == 429 || (x->code >= 500 && x->code <= 599);
	uint64_t wait = (uint64_t)x->retry_after_s * NS_PER_S;
	if (x->code == 401 && !a->token_renewed && kube_config_renewable(c->client->config)) {
		a->token_renewed = true;
		c->tls_suspect = true; /* or the certificate is what was too old */
		return 1;
	}
	if (!server || !x->has_retry_after || a->retries == KUBE_RETRIES_MAX ||
	    x->retry_after_s > KUBE_RETRY_AFTER_MAX_S)
		return 0;
	if (x->end_ns != 0 && clock_mono_ns() + wait >= x->end_ns)
		return 0;
	a->retries++;
	int r = kube_conn_sleep(c, wait);
	return r < 0 ? r : 1;
}

static bool after_failure(const struct kube_exchange *x, struct attempt *a)
{
	if (!x->reset || a->reset_once || strcmp(x->method, "GET") != 0)
		return false;
	if (x->got_bytes && x->restart == NULL)
		return false;
	a->reset_once = true;
	return true;
}

static int one_attempt(struct kube_conn *c, struct kube_exchange *x, bool fresh, uint64_t *asked_ns)
{
	CLEANUP(kube_secret_wipe) struct strbuf token = STRBUF_INIT;
	const struct kube_token_ask ask = { fresh, *asked_ns, &c->cancelled };
	int r = kube_config_token(c->client->config, &ask, &token, x->error, sizeof(x->error));
	if (r < 0)
		return r;
	*asked_ns = clock_mono_ns();
	if (x->got_bytes)
		x->restart(x->ctx);
	x->token = strbuf_slice(&token);
	r = kube_conn_exchange(c, x);
	x->token = (struct slice){ 0 };
	return r;
}

/* The result for the caller, and its text. */
static int conclude(struct kube_conn *c, struct kube_exchange *x, int r, struct kube_status *reterr)
{
	struct kube_status dummy = { 0 };
	struct kube_status *s = reterr != NULL ? reterr : &dummy;
	char text[CURL_ERROR_SIZE + 256];
	*s = (struct kube_status){ 0 };
	if (r == 0 && x->code >= 200 && x->code <= 299)
		return 0;
	if (r == 0) {
		r = kube_status_from(s, x->code, strbuf_slice(&x->error_body), x->audit_id);
		if (x->has_retry_after)
			s->retry_after_s = x->retry_after_s;
	} else {
		snprintf(text, sizeof(text), "%s: %s", kube_config_server(c->client->config),
			 x->error[0] != '\0' ? x->error : err_str(r));
		kube_status_say(s, text);
	}
	kube_status_done(&dummy);
	return r;
}

/* A write waits its turn, if there is a limit. */
static int wait_turn(struct kube_conn *c, const struct kube_exchange *x)
{
	if (c->urgent || strcmp(x->method, "GET") == 0)
		return 0;
	uint64_t wait = kube_bucket_take(&c->client->writes, c->patient, clock_mono_ns());
	return wait != 0 ? kube_conn_sleep(c, wait) : 0;
}

int kube_conn_request(struct kube_conn *c, struct kube_exchange *x, struct kube_status *reterr)
{
	struct attempt a = { 0 };
	uint64_t asked_ns = 0;
	bool fresh = false;
	int r = wait_turn(c, x), again = r == 0 ? 1 : r;
	while (again > 0) {
		bool renewed = a.token_renewed;
		r = one_attempt(c, x, fresh, &asked_ns);
		again = r == 0 ? after_answer(c, x, &a) : after_failure(x, &a);
		fresh = a.token_renewed && !renewed;
	}
	x->error[0] = again < 0 ? '\0' : x->error[0];
	return conclude(c, x, again < 0 ? again : r, reterr);
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

static void forget_answer(void *ctx)
{
	strbuf_reset(ctx);
}

static void say_unusable(struct kube_status *reterr, int code, const char *text)
{
	if (reterr == NULL)
		return;
	kube_status_say(reterr, text);
	reterr->code = code;
}

static int decode(struct slice text, int code, json_t **ret, struct kube_status *reterr)
{
	json_error_t e;
	json_t *v = json_loadb(text.n != 0 ? text.p : "", text.n, JSON_DECODE_ANY, &e);
	if (v == NULL) {
		char what[320];
		snprintf(what, sizeof(what), "the answer is not JSON: %s", e.text);
		say_unusable(reterr, code, what);
		return ERR_PARSE;
	}
	*ret = v;
	return 0;
}

int kube_call(struct kube_conn *c, const struct kube_request *r, json_t **ret,
	      struct kube_status *reterr)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	CLEANUP(freep) char *body = r->body != NULL ? json_dumps(r->body, JSON_COMPACT) : NULL;
	uint64_t limit = r->timeout_ns != 0 ? r->timeout_ns : DEFAULT_TIMEOUT_S * NS_PER_S;
	struct kube_exchange x = {
		.method = r->method,
		.path = r->path,
		.body = body != NULL ? slice_of(body) : r->raw,
		.content_type = r->content_type != NULL ? r->content_type : "application/json",
		.accept = r->accept,
		.gzip = strcmp(r->method, "GET") == 0,
		.end_ns = clock_mono_ns() + limit,
		.data = keep_answer,
		.restart = forget_answer,
		.ctx = &text,
		.error_body = STRBUF_INIT,
	};
	if (r->body != NULL && body == NULL) {
		if (reterr != NULL)
			*reterr = (struct kube_status){ .message = "the body cannot be written" };
		return ERR_PARSE;
	}
	int e = kube_conn_request(c, &x, reterr);
	/* An exec plugin, too, may have said more than it should: that is no answer. */
	if (e == ERR_LIMIT && x.code >= 200 && x.code <= 299)
		say_unusable(reterr, x.code, "the answer is longer than this program takes");
	kube_exchange_done(&x);
	if (e == 0 && ret != NULL)
		e = decode(strbuf_slice(&text), x.code, ret, reterr);
	return e;
}
