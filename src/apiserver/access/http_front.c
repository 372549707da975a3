/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The HTTP handler of the embedded API. Order of a request: health and /version, if it has no
 * token; authentication; limits; health, metrics and discovery; authorization; the API's verbs.
 * Then headers, warnings and the stream of the answer are written as HTTP. */
#include "apiserver/access/http_front.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/access/authorize.h"
#include "apiserver/request/answer.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "base/rng.h"

enum { AUDIT_ID_BYTES = 16, AUDIT_ID_TEXT = 36 + 1, AUDIT_ID_MAX_BYTES = 64 };

static const char plain_text[] = "text/plain; charset=utf-8";

static const struct metrics_family requests_total = {
	.name = "fairlead_api_requests_total",
	.help = "Requests to the embedded API, by method and code.",
	.kind = METRICS_COUNTER,
	.labels = { "method", "code" },
};
static const struct metrics_family streams_open = {
	.name = "fairlead_api_streams",
	.help = "Watches and long lists of the embedded API that are being sent.",
	.kind = METRICS_GAUGE,
};

static void count_request(const struct http_request *req, unsigned status)
{
	char code[12];
	snprintf(code, sizeof(code), "%u", status);
	/* Unknown methods share one label: clients must not be able to create series. */
	const char *method = req->method == HTTP_OTHER ? "other" : req->method_text;
	metrics_add(metrics_get(&requests_total, (const char *const[]){ method, code }), 0, 1);
}

/* --- header fields --- */

/* Ids only have to differ: the kernel is asked once per thread. */
static void fill_random(uint8_t out[AUDIT_ID_BYTES])
{
	static _Thread_local struct rng rng;
	static _Thread_local bool ready;
	if (!ready)
		rng_init(&rng);
	ready = true;
	for (size_t i = 0; i < AUDIT_ID_BYTES / sizeof(uint64_t); i++) {
		uint64_t word = rng_u64(&rng);
		memcpy(out + i * sizeof(word), &word, sizeof(word));
	}
}

/* A UUID of version 4. */
static void make_audit_id(char out[AUDIT_ID_TEXT])
{
	static const char form[] = "xxxxxxxx-xxxx-4xxx-axxx-xxxxxxxxxxxx",
			  digits[] = "0123456789abcdef";
	_Static_assert(sizeof(form) == AUDIT_ID_TEXT, "with its end");
	uint8_t random[AUDIT_ID_BYTES];
	size_t nibble = 0;
	fill_random(random);
	for (size_t i = 0; i < sizeof(form); i++) {
		out[i] = form[i];
		if (form[i] != 'x')
			continue;
		out[i] = digits[random[nibble / 2] >> nibble % 2 * 4 & 15];
		nibble++;
	}
}

static void add_audit_id(const struct http_request *req, struct http_answer *out)
{
	const char *given = http_request_header(req, "Audit-ID");
	char made[AUDIT_ID_TEXT];
	if (given != NULL && *given != '\0' && strlen(given) <= AUDIT_ID_MAX_BYTES) {
		http_answer_header(out, "Audit-Id", given);
		return;
	}
	make_audit_id(made);
	http_answer_header(out, "Audit-Id", made);
}

static void add_warnings(struct http_answer *out, const struct strbuf *lines)
{
	struct slice rest = strbuf_slice(lines);
	for (unsigned n = 0; rest.n > 0 && n < APISERVER_WARNINGS_MAX;) {
		struct slice line = slice_cut(&rest, '\n');
		if (line.n == 0)
			continue;
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		strbuf_adds(&text, "299 - \"");
		for (size_t i = 0; i < line.n; i++) {
			if (line.p[i] == '"' || line.p[i] == '\\')
				strbuf_addc(&text, '\\');
			strbuf_addc(&text, line.p[i]);
		}
		strbuf_addc(&text, '"');
		http_answer_header(out, "Warning", text.s);
		n++;
	}
}

static void add_headers(struct http_answer *out, const struct apiserver_answer *answer)
{
	char seconds[12];
	http_answer_header(out, "Cache-Control", "no-cache, private");
	if (answer->etag[0] != '\0')
		http_answer_header(out, "Etag", answer->etag);
	if (answer->retry_after_s > 0) {
		snprintf(seconds, sizeof(seconds), "%u", answer->retry_after_s);
		http_answer_header(out, "Retry-After", seconds);
	}
	add_warnings(out, &answer->warnings);
}

/* --- streams --- */

/* A watch or a long list that is being sent. */
struct open_stream {
	const struct apiserver_backend *backend;
	struct apiserver_stream *stream;
	atomic_uint *n_watches; /* counts it; NULL: a long list, which does not count */
};

static ssize_t pull_stream(void *ctx, char *buf, size_t len)
{
	struct open_stream *opened = ctx;
	return opened->backend->pull(opened->stream, buf, len);
}

static void end_stream(void *ctx)
{
	struct open_stream *opened = ctx;
	opened->backend->free(opened->stream);
	if (opened->n_watches != NULL) {
		unsigned before = atomic_fetch_sub(opened->n_watches, 1);
		assert(before > 0);
	}
	free(opened);
	metrics_add(metrics_get(&streams_open, NULL), 0, (uint64_t)-1);
}

static const struct http_stream_ops watch_ops = { pull_stream, end_stream, false };
static const struct http_stream_ops list_ops = { pull_stream, end_stream, true };

static void wake_stream(void *handle)
{
	http_stream_wake(handle);
}

static void add_stream(struct apiserver_http_front *front, struct http_answer *out,
		       struct apiserver_answer *answer)
{
	struct open_stream *opened = xcalloc(1, sizeof(*opened));
	opened->backend = front->backend;
	opened->stream = TAKE_PTR(answer->stream);
	opened->n_watches = answer->stream_whole ? NULL : &front->n_watches;
	out->stream = answer->stream_whole ? &list_ops : &watch_ops;
	out->stream_ctx = opened;
	metrics_add(metrics_get(&streams_open, NULL), 0, 1);
	opened->backend->on_wake(opened->stream, wake_stream, out->handle);
}

/* 429 as from kube-apiserver; clients retry after the given time. */
static void refuse_busy(struct apiserver_answer *ret, const char *message)
{
	struct apiserver_status status = APISERVER_STATUS_INIT;
	IGNORE(apiserver_status_refuse(&status, 429, "TooManyRequests", "%s", message));
	apiserver_answer_refuse(ret, &status);
	ret->retry_after_s = 1;
}

/* A watch lasts up to an hour: without a limit, watches would use up all connections. */
static void refuse_excess_watch(struct apiserver_http_front *front, struct apiserver_answer *ret)
{
	unsigned max = front->max_watches != 0 ? front->max_watches : APISERVER_WATCHES_MAX;
	if (ret->stream == NULL || ret->stream_whole ||
	    atomic_fetch_add(&front->n_watches, 1) < max)
		return;
	atomic_fetch_sub(&front->n_watches, 1);
	front->backend->free(TAKE_PTR(ret->stream));
	refuse_busy(ret, "too many watches are open: try again later");
}

/* --- health and metrics, served without the API --- */

static bool always_ok(void *ctx, struct strbuf *why)
{
	(void)ctx;
	(void)why;
	return true;
}

struct health_question {
	const char *what; /* "readyz" */
	const char *only; /* one check by its name, or "" for all */
	bool verbose;
	bool authenticated; /* the client has a token: reasons may be shown */
};

static void add_check(const struct apiserver_health *health, bool authenticated, bool *all_ok,
		      struct strbuf *lines)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	bool ok = health->ok(health->ctx, &why);
	strbuf_addf(lines, "[%c]%s %s%s\n", ok ? '+' : '-', health->name, ok ? "ok" : "failed: ",
		    ok				 ? ""
		    : authenticated && why.n > 0 ? why.s
						 : "reason withheld");
	*all_ok &= ok;
}

/* False when there is no check of this name. */
static bool check_health(const struct apiserver_http_front *front,
			 const struct health_question *question, struct apiserver_answer *ret)
{
	static const struct apiserver_health ping = { .name = "ping", .ok = always_ok };
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
	bool all_ok = true, found = false;
	for (size_t i = 0; i <= front->n_health; i++) {
		const struct apiserver_health *h = i == 0 ? &ping : &front->health[i - 1];
		bool named = strcmp(question->only, h->name) == 0;
		if ((*question->only != '\0' && !named) || (h->by_name_only && !named) ||
		    (h->ready_only && strcmp(question->what, "readyz") != 0))
			continue;
		add_check(h, question->authenticated, &all_ok, &lines);
		found = true;
	}
	ret->content_type = plain_text;
	ret->status = all_ok ? 200 : 500;
	if (all_ok && !question->verbose)
		strbuf_adds(&ret->body, "ok");
	else
		strbuf_addf(&ret->body, "%s%s check %s\n", lines.s, question->what,
			    all_ok ? "passed" : "failed");
	return found;
}

static bool serve_health(const struct apiserver_http_front *front, const struct http_request *req,
			 bool authenticated, struct apiserver_answer *ret)
{
	static const char *const kinds[] = { "healthz", "livez", "readyz" };
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t n = strlen(kinds[i]);
		const char *rest = req->path + 1 + n;
		if (req->path[0] != '/' || strncmp(req->path + 1, kinds[i], n) != 0 ||
		    (*rest != '\0' && *rest != '/'))
			continue;
		const struct health_question q = {
			.what = kinds[i],
			.only = *rest == '/' ? rest + 1 : rest,
			.verbose = http_request_arg(req, "verbose") != NULL,
			.authenticated = authenticated,
		};
		if (req->method != HTTP_GET && req->method != HTTP_HEAD)
			apiserver_answer_no_such_method(ret);
		else if (!check_health(front, &q, ret))
			apiserver_answer_no_such_page(ret);
		return true;
	}
	return false;
}

static bool serve_metrics(const struct http_request *req, struct apiserver_answer *ret)
{
	if (strcmp(req->path, "/metrics") != 0)
		return false;
	if (req->method != HTTP_GET && req->method != HTTP_HEAD) {
		apiserver_answer_no_such_method(ret);
		return true;
	}
	metrics_render(&ret->body);
	ret->content_type = "text/plain; version=0.0.4; charset=utf-8";
	return true;
}

/* --- the path of a request --- */

static const char *header_of(const struct http_request *req, const char *name)
{
	const char *value = http_request_header(req, name);
	return value != NULL ? value : "";
}

/* Paths without authentication: clients probe them to find the server. */
static bool is_public_path(const struct http_request *req)
{
	static const char *const paths[] = { "/version", "/version/" };
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		if (strcmp(req->path, paths[i]) == 0)
			return true;
	}
	return false;
}

/* False: refused, and `ret` is the answer. */
static bool check_access(const struct apiserver_call *call, struct apiserver_answer *ret)
{
	struct apiserver_attributes wanted; /* 4 KB: too much to clear for each request */
	bool is_resource = apiserver_authorize_read_call(call, &wanted);
	bool may = is_resource && apiserver_authorize(call->who, &wanted.action);
	/* Methods without a verb are refused by the API itself. */
	may |= is_resource && *wanted.action.verb == '\0';
	if (!is_resource)
		apiserver_answer_no_such_page(ret);
	else if (!may)
		apiserver_authorize_refuse(call->who, &wanted.action, ret);
	return may;
}

static void serve_api(const struct apiserver_http_front *front, const struct apiserver_call *call,
		      struct apiserver_answer *ret)
{
	struct apiserver_answer found;
	if (apiserver_discovery_serve(front->discovery, call, &found)) {
		strbuf_done(&ret->body);
		*ret = found;
	} else if (check_access(call, ret)) {
		strbuf_done(&ret->body);
		front->backend->serve(front->backend->ctx, call, ret);
	}
}

static void serve_call(const struct apiserver_http_front *front, const struct http_request *req,
		       const struct apiserver_identity *who, struct apiserver_answer *ret)
{
	struct apiserver_arg args[APISERVER_ARGS_MAX];
	struct http_arg given[APISERVER_ARGS_MAX];
	size_t n = http_request_args(req, given, ARRAY_LEN(given));
	if (n > ARRAY_LEN(given)) {
		apiserver_answer_refuse_plain(ret, 400, "BadRequest", "too many query parameters");
		return;
	}
	for (size_t i = 0; i < n; i++)
		args[i] = (struct apiserver_arg){ given[i].name, given[i].value };
	const struct apiserver_call c = {
		.method = req->method,
		.method_text = req->method_text,
		.path = req->path,
		.args = args,
		.n_args = n,
		.accept = header_of(req, "Accept"),
		.content_type = header_of(req, "Content-Type"),
		.if_none_match = header_of(req, "If-None-Match"),
		.user_agent = header_of(req, "User-Agent"),
		.body = req->body,
		.who = who,
	};
	serve_api(front, &c, ret);
}

/* Impersonation is not supported. Ignoring the header would run the request with more rights than
 * the client wants. */
static bool refuse_impersonation(const struct http_request *req,
				 const struct apiserver_identity *who, struct apiserver_answer *ret)
{
	static const struct {
		const char *header, *resource;
	} rows[] = { { "Impersonate-User", "users" },
		     { "Impersonate-Group", "groups" },
		     { "Impersonate-Uid", "uids" } };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *name = http_request_header(req, rows[i].header);
		if (name == NULL)
			continue;
		const struct apiserver_action a = { .verb = "impersonate",
						    .group = "",
						    .resource = rows[i].resource,
						    .subresource = "",
						    .ns = "",
						    .name = name,
						    .path = "" };
		apiserver_authorize_refuse(who, &a, ret);
		return true;
	}
	return false;
}

/* In which state the HTTP server delivered the request. */
enum delivery { WHOLE, TOO_LONG, TOO_MANY };

static void serve_request(const struct apiserver_http_front *front, const struct http_request *req,
			  enum delivery delivery, struct apiserver_answer *ret)
{
	const char *token = http_request_header(req, "Authorization");
	const struct apiserver_identity *who =
		apiserver_authenticator_identify(front->authenticator, token);
	if (token == NULL && serve_health(front, req, false, ret))
		return;
	if (token == NULL && is_public_path(req))
		serve_call(front, req, NULL, ret);
	else if (who == NULL)
		apiserver_answer_refuse_plain(ret, 401, "Unauthorized", "Unauthorized");
	else if (delivery == TOO_MANY)
		refuse_busy(ret, "too many requests at a time: try again later");
	else if (delivery == TOO_LONG)
		apiserver_answer_refuse_plain(ret, 413, "RequestEntityTooLarge",
					      "Request entity too large: limit is 3145728");
	else if (!refuse_impersonation(req, who, ret) && !serve_health(front, req, true, ret) &&
		 !serve_metrics(req, ret))
		serve_call(front, req, who, ret);
}

static void handle_request(struct apiserver_http_front *front, const struct http_request *req,
			   enum delivery delivery, struct http_answer *out)
{
	struct apiserver_answer a;
	apiserver_answer_init(&a);
	serve_request(front, req, delivery, &a);
	refuse_excess_watch(front, &a);
	out->status = a.status;
	out->content_type = a.content_type;
	add_audit_id(req, out);
	add_headers(out, &a);
	strbuf_done(&out->body);
	out->body = a.body;
	strbuf_init(&a.body);
	if (a.stream != NULL)
		add_stream(front, out, &a);
	count_request(req, a.status);
	front->backend->done(&a);
}

bool apiserver_http_front_is_authenticated(void *front, const struct http_request *req)
{
	const struct apiserver_http_front *f = front;
	return apiserver_authenticator_identify(f->authenticator,
						http_request_header(req, "Authorization")) != NULL;
}

void apiserver_http_front_handle(void *front, const struct http_request *req,
				 struct http_answer *answer)
{
	handle_request(front, req, WHOLE, answer);
}

void apiserver_http_front_too_long(void *front, const struct http_request *req,
				   struct http_answer *answer)
{
	handle_request(front, req, TOO_LONG, answer);
}

void apiserver_http_front_busy(void *front, const struct http_request *req,
			       struct http_answer *answer)
{
	handle_request(front, req, TOO_MANY, answer);
}
