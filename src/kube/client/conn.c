/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A connection: one libcurl handle, driven so that another thread can end the wait at once. */
#include "kube/client/conn.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "kube/client/client_priv.h"
#include "kube/client/credential_priv.h"

enum {
	KEEPALIVE_IDLE_S = 30,
	KEEPALIVE_INTERVAL_S = 10,
	USER_TIMEOUT_MS = 45000, /* a dead network ends a connection after this */
	MAX_IDLE_S = 80,	 /* the server closes an idle one after 90 s: be first */
	UPLOAD_BUFFER_BYTES = 16 << 10,
	POLL_MAX_MS = 60000,
};

#define USER_AGENT "fairlead/" FAIRLEAD_VERSION " (linux)"

/* ---- what libcurl calls ---- */

/* Its own sockets would be inherited by exec plugins. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *sockaddr)
{
	int idle = KEEPALIVE_IDLE_S, every = KEEPALIVE_INTERVAL_S, on = 1;
	unsigned limit = USER_TIMEOUT_MS;
	(void)ctx;
	(void)purpose;
	int fd = socket(sockaddr->family, sockaddr->socktype | SOCK_CLOEXEC, sockaddr->protocol);
	if (fd < 0)
		return CURL_SOCKET_BAD;
	/* All are for peers that vanish; a kernel that knows one of them not changes nothing. */
	IGNORE(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)));
	IGNORE(setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)));
	IGNORE(setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every)));
	IGNORE(setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof(limit)));
	return fd;
}

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

static void take_header(struct kube_exchange *exchange, struct slice name, struct slice value)
{
	uint64_t s;
	if (slice_eq_nocase(name, SLICE("Warning")))
		keep_warning(exchange->conn, value);
	if (slice_eq_nocase(name, SLICE("Audit-Id")))
		snprintf(exchange->audit_id, sizeof(exchange->audit_id), "%.*s",
			 (int)MIN(value.n, (size_t)63), value.p);
	/* Seconds only, as client-go: API servers send no dates. */
	if (slice_eq_nocase(name, SLICE("Retry-After")) && slice_u64(value, &s) == 0) {
		exchange->has_retry_after = true;
		exchange->retry_after_s = (unsigned)MIN(s, (uint64_t)1 << 20);
	}
}

static size_t on_header(char *pos, size_t size, size_t count, void *ctx)
{
	struct kube_exchange *x = ctx;
	struct slice line = slice_trim((struct slice){ pos, size * count });
	x->heard_ns = clock_mono_ns();
	ptrdiff_t colon = slice_find(line, ':');
	if (colon > 0 && x->headers++ < KUBE_HEADERS_MAX)
		take_header(x, (struct slice){ line.p, (size_t)colon },
			    slice_trim(slice_from(line, (size_t)colon + 1)));
	return size * count;
}

static int code_of(struct kube_exchange *exchange)
{
	long code = 0;
	if (exchange->code == 0 &&
	    exchange->conn->lib->easy_getinfo(exchange->conn->easy, CURLINFO_RESPONSE_CODE,
					      &code) == CURLE_OK)
		exchange->code = (int)code;
	return exchange->code;
}

static size_t on_data(char *pos, size_t size, size_t count, void *ctx)
{
	struct kube_exchange *x = ctx;
	int code = code_of(x);
	count *= size;
	if (code < 200 || code > 299) {
		assert(x->error_body.n <= KUBE_ERROR_MAX_BYTES);
		size_t room = KUBE_ERROR_MAX_BYTES - x->error_body.n;
		strbuf_add(&x->error_body, pos, MIN(count, room));
	} else {
		x->got_bytes = true;
		x->data_error = x->data(x->ctx, (struct slice){ pos, count });
	}
	x->heard_ns = clock_mono_ns(); /* `data` may take its time: that is no silence */
	return x->data_error < 0 ? 0 : count;
}

static size_t on_body(char *pos, size_t size, size_t count, void *ctx)
{
	struct kube_exchange *x = ctx;
	assert(x->body_at <= x->body.n);
	size_t k = MIN(size * count, x->body.n - x->body_at);
	memcpy(pos, x->body.p + x->body_at, k);
	x->body_at += k;
	return k;
}

/* libcurl repeats a request when a kept connection turns out to be closed. It may, unless bytes of
 * the body have left: the server could have acted on them. */
static int refuse_rewind(void *ctx, curl_off_t offset, int origin)
{
	(void)ctx;
	(void)offset;
	(void)origin;
	return CURL_SEEKFUNC_FAIL;
}

/* ---- setting up ---- */

#define SET(option, value) IGNORE(conn->lib->easy_setopt(conn->easy, CURLOPT_##option, (value)))

static void set_tls(struct kube_conn *conn)
{
	const struct kube_tls *t = conn->tls;
	bool verify = !conn->client->config->insecure;
	SET(SSL_VERIFYPEER, (long)verify);
	SET(SSL_VERIFYHOST, verify ? 2L : 0L);
	/* By default each handle loads the system's whole bundle, 4 MB. */
	if (!t->system_ca) {
		SET(CAINFO, t->ca_path);
		SET(CAPATH, NULL);
	}
	SET(SSLCERT, t->cert_path);
	SET(SSLKEY, t->key_path);
	SET(SSL_SESSIONID_CACHE, 0L); /* a resumed session would keep an old identity */
}

static void set_line(struct kube_conn *conn)
{
	const struct kube_client *cl = conn->client;
	SET(NOSIGNAL, 1L);
	SET(PROTOCOLS_STR, "http,https");
	SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1); /* measured: faster for one list */
	SET(USERAGENT, USER_AGENT);
	SET(CONNECTTIMEOUT, (long)KUBE_CONNECT_TIMEOUT_S);
	SET(MAXAGE_CONN, (long)MAX_IDLE_S);
	SET(UPLOAD_BUFFERSIZE, (long)UPLOAD_BUFFER_BYTES);
	SET(OPENSOCKETFUNCTION, open_socket);
	SET(QUICK_EXIT, 1L); /* a cancelled call does not wait for a name server */
	if (cl->config->proxy != NULL)
		SET(PROXY, cl->config->proxy);
	if (cl->no_proxy)
		SET(NOPROXY, cl->config->proxy != NULL ? "" : "*");
}

static void set_request(struct kube_conn *conn, struct kube_exchange *exchange)
{
	SET(CUSTOMREQUEST, exchange->method);
	SET(HEADERFUNCTION, on_header);
	SET(HEADERDATA, exchange);
	SET(WRITEFUNCTION, on_data);
	SET(WRITEDATA, exchange);
	SET(ERRORBUFFER, exchange->error);
	SET(PATH_AS_IS, 1L); /* `configmaps/..` would become the namespace itself */
	if (exchange->gzip)
		SET(ACCEPT_ENCODING, "gzip");
	if (exchange->body.p == NULL)
		return;
	SET(POST, 1L);
	SET(POSTFIELDSIZE_LARGE, (curl_off_t)exchange->body.n);
	SET(READFUNCTION, on_body);
	SET(READDATA, exchange);
	SET(SEEKFUNCTION, refuse_rewind);
}

static void add_header(struct kube_conn *conn, struct curl_slist **slist, const char *name,
		       struct slice value)
{
	CLEANUP(secret_wipe_strbuf) struct strbuf b = STRBUF_INIT;
	strbuf_addf(&b, "%s%.*s", name, (int)value.n, value.n != 0 ? value.p : "");
	struct curl_slist *more = conn->lib->slist_append(*slist, b.s);
	if (more != NULL)
		*slist = more;
}

static struct curl_slist *make_headers(struct kube_conn *conn, const struct kube_exchange *exchange)
{
	const struct kube_config *conf = conn->client->config;
	struct curl_slist *l = NULL;
	add_header(conn, &l, "Accept: ",
		   slice_of(exchange->accept != NULL ? exchange->accept : "application/json"));
	add_header(conn, &l, "Expect:", SLICE("")); /* no extra round trip before a body */
	if (conn->client->host != NULL)
		add_header(conn, &l, conn->client->host, SLICE(""));
	if (exchange->body.p != NULL)
		add_header(conn, &l, "Content-Type: ", slice_of(exchange->content_type));
	if (exchange->token.n != 0)
		add_header(conn, &l, "Authorization: Bearer ", exchange->token);
	for (size_t i = 0; i < conf->headers.n; i++)
		add_header(conn, &l, conf->headers.v[i], SLICE(""));
	return l;
}

static void drop_headers(struct kube_conn *conn, struct curl_slist *slist)
{
	for (struct curl_slist *h = slist; h != NULL; h = h->next)
		explicit_bzero(h->data, strlen(h->data));
	conn->lib->slist_free_all(slist);
}

/* Switches to the newest certificates; a change means a new connection. */
static int refresh_tls(struct kube_conn *conn, struct kube_exchange *exchange, bool *ret_changed)
{
	struct kube_tls *t = NULL;
	int r = kube_config_tls(conn->client->config, conn->tls_suspect, &conn->cancelled, &t,
				ERR_TEXT(exchange->error));
	if (r < 0)
		return r;
	*ret_changed = conn->tls != NULL && conn->tls != t;
	kube_tls_unref(conn->tls);
	conn->tls = t;
	conn->tls_suspect = false;
	return 0;
}

/* ---- waiting ---- */

static int wait_ms(const struct kube_exchange *exchange, uint64_t now)
{
	uint64_t end = exchange->end_ns != 0 ? exchange->end_ns : UINT64_MAX;
	if (exchange->idle_ns != 0)
		end = MIN(end, exchange->heard_ns + exchange->idle_ns);
	if (end <= now)
		return 0;
	return (int)MIN((end - now) / NS_PER_MS + 1, (uint64_t)POLL_MAX_MS);
}

static int check_deadlines(struct kube_exchange *exchange, uint64_t now)
{
	if (exchange->idle_ns != 0 && now >= exchange->heard_ns + exchange->idle_ns) {
		snprintf(exchange->error, sizeof(exchange->error), "no data received for %llu ms",
			 (unsigned long long)(exchange->idle_ns / NS_PER_MS));
		return ERR_TIMEOUT;
	}
	if (exchange->end_ns != 0 && now >= exchange->end_ns) {
		snprintf(exchange->error, sizeof(exchange->error), "no answer in time");
		return ERR_TIMEOUT;
	}
	return 0;
}

/* Runs until libcurl is done (its result in *ret), the call is cancelled, or time is over. */
static int run_transfer(struct kube_conn *conn, struct kube_exchange *exchange, CURLcode *ret)
{
	for (;;) {
		int running = 0, left = 0;
		if (atomic_load(&conn->cancelled))
			return -ECANCELED;
		if (conn->lib->multi_perform(conn->multi, &running) != CURLM_OK)
			return ERR_INTERNAL;
		const CURLMsg *m = conn->lib->multi_info_read(conn->multi, &left);
		if (m != NULL && m->msg == CURLMSG_DONE) {
			*ret = m->data.result;
			return 0;
		}
		uint64_t now = clock_mono_ns();
		int r = check_deadlines(exchange, now);
		if (r < 0)
			return r;
		if (conn->lib->multi_poll(conn->multi, NULL, 0, wait_ms(exchange, now), NULL) !=
		    CURLM_OK)
			return ERR_INTERNAL;
	}
}

int kube_conn_sleep(struct kube_conn *conn, uint64_t ns)
{
	uint64_t end = clock_mono_ns() + ns;
	for (;;) {
		uint64_t now = clock_mono_ns();
		if (atomic_load(&conn->cancelled))
			return -ECANCELED;
		if (now >= end)
			return 0;
		uint64_t ms = MIN((end - now) / NS_PER_MS + 1, (uint64_t)POLL_MAX_MS);
		if (conn->lib->multi_poll(conn->multi, NULL, 0, (int)ms, NULL) != CURLM_OK)
			return ERR_INTERNAL;
	}
}

/* ---- results ---- */

static const struct {
	CURLcode code;
	int err;
	bool reset; /* a broken connection, not one that was refused */
} curl_codes[] = {
	{ CURLE_RECV_ERROR, ERR_CLOSED, true },
	{ CURLE_SEND_ERROR, ERR_CLOSED, true },
	{ CURLE_GOT_NOTHING, ERR_CLOSED, true },
	{ CURLE_PARTIAL_FILE, ERR_CLOSED, true },
	{ CURLE_SEND_FAIL_REWIND, ERR_CLOSED, true },
	{ CURLE_HTTP2, ERR_CLOSED, true },
	{ CURLE_HTTP2_STREAM, ERR_CLOSED, true },
	{ CURLE_COULDNT_CONNECT, ERR_CLOSED, false },
	{ CURLE_COULDNT_RESOLVE_HOST, ERR_CLOSED, false },
	{ CURLE_COULDNT_RESOLVE_PROXY, ERR_CLOSED, false },
	{ CURLE_PROXY, ERR_CLOSED, false },
	{ CURLE_OPERATION_TIMEDOUT, ERR_TIMEOUT, false },
	{ CURLE_SSL_CONNECT_ERROR, ERR_TLS, false },
	{ CURLE_PEER_FAILED_VERIFICATION, ERR_TLS, false },
	{ CURLE_SSL_CERTPROBLEM, ERR_TLS, false },
	{ CURLE_SSL_CACERT_BADFILE, ERR_TLS, false },
	{ CURLE_SSL_ISSUER_ERROR, ERR_TLS, false },
	{ CURLE_SSL_CIPHER, ERR_TLS, false },
	{ CURLE_WEIRD_SERVER_REPLY, ERR_PARSE, false },
	{ CURLE_UNSUPPORTED_PROTOCOL, ERR_PARSE, false },
	{ CURLE_BAD_CONTENT_ENCODING, ERR_PARSE, false },
	{ CURLE_URL_MALFORMAT, ERR_CONFIG, false },
};

/* libcurl names the file in memory instead, and not why. */
static void explain_trust(const struct kube_conn *conn, struct kube_exchange *exchange)
{
	if (strncmp(exchange->error, "server certificate verification failed", 38) == 0)
		snprintf(exchange->error, sizeof(exchange->error),
			 "its certificate is not trusted: it has expired, or was not signed by %s",
			 conn->tls->system_ca ? "a CA of this system, and the kubeconfig "
						"names no certificate-authority"
					      : "the configured certificate-authority");
}

static int classify_result(struct kube_conn *conn, struct kube_exchange *exchange, CURLcode code)
{
	if (exchange->data_error < 0) {
		exchange->error[0] = '\0'; /* libcurl's words are about writing */
		return exchange->data_error;
	}
	if (code == CURLE_OK) {
		code_of(exchange);
		return 0;
	}
	if (code == CURLE_SEND_FAIL_REWIND) /* libcurl's words are about refuse_rewind */
		snprintf(exchange->error, sizeof(exchange->error),
			 "the connection ended while the request was sent");
	if (exchange->error[0] == '\0')
		snprintf(exchange->error, sizeof(exchange->error), "%s",
			 conn->lib->easy_strerror(code));
	explain_trust(conn, exchange);
	for (size_t i = 0; i < ARRAY_LEN(curl_codes); i++)
		if (curl_codes[i].code == code) {
			exchange->reset = curl_codes[i].reset;
			/* Files may have been renewed since they were read; with TLS 1.3 a server
			 * that refuses our certificate says so after the handshake. */
			conn->tls_suspect = curl_codes[i].err == ERR_TLS || exchange->code == 0;
			return curl_codes[i].err;
		}
	return ERR_CLOSED;
}

static void reset_exchange(struct kube_conn *conn, struct kube_exchange *exchange)
{
	assert(exchange->method != NULL && exchange->path != NULL && exchange->data != NULL);
	exchange->conn = conn;
	exchange->code = 0;
	exchange->got_bytes = exchange->has_retry_after = exchange->reset = false;
	exchange->retry_after_s = exchange->headers = 0;
	exchange->audit_id[0] = exchange->error[0] = '\0';
	exchange->body_at = 0;
	exchange->data_error = 0;
	strbuf_reset(&exchange->error_body);
	strbuf_reset(&conn->warnings);
	exchange->heard_ns = clock_mono_ns();
}

int kube_conn_exchange(struct kube_conn *conn, struct kube_exchange *exchange)
{
	CURLcode code = CURLE_OK;
	bool changed = false;
	CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
	struct curl_slist *to = NULL;
	reset_exchange(conn, exchange);
	int r = refresh_tls(conn, exchange, &changed);
	if (r < 0)
		return r;
	strbuf_addf(&url, "%s%s", conn->client->url, exchange->path);
	struct curl_slist *headers = make_headers(conn, exchange);
	set_line(conn);
	set_tls(conn);
	set_request(conn, exchange);
	SET(URL, url.s);
	SET(HTTPHEADER, headers);
	SET(FRESH_CONNECT, (long)changed);
	if (conn->client->connect_to != NULL) {
		to = conn->lib->slist_append(NULL, conn->client->connect_to);
		SET(CONNECT_TO, to);
	}
	if (conn->lib->multi_add_handle(conn->multi, conn->easy) != CURLM_OK)
		r = ERR_INTERNAL;
	else
		r = run_transfer(conn, exchange, &code);
	/* A handle that is taken out before it was done closes its connection. */
	IGNORE(conn->lib->multi_remove_handle(conn->multi, conn->easy));
	r = r < 0 ? r : classify_result(conn, exchange, code);
	conn->lib->easy_reset(conn->easy);
	drop_headers(conn, headers);
	conn->lib->slist_free_all(to);
	return r;
}

void kube_exchange_done(struct kube_exchange *exchange)
{
	strbuf_done(&exchange->error_body);
}

/* ---- public ---- */

struct kube_conn *kube_conn_new(struct kube_client *client, struct err_text err)
{
	const struct kube_curl *lib = kube_curl_load(err);
	if (lib == NULL)
		return NULL;
	struct kube_conn *c = xcalloc(1, sizeof(*c));
	c->client = client;
	c->lib = lib;
	strbuf_init(&c->warnings);
	c->multi = lib->multi_init();
	c->easy = lib->easy_init();
	if (c->multi == NULL || c->easy == NULL) {
		err_text_set(err, "cannot create a connection handle: out of file descriptors?");
		kube_conn_free(c);
		return NULL;
	}
	/* One, so that one with old certificates does not outlive the next. */
	IGNORE(lib->multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, 1L));
	return c;
}

void kube_conn_free(struct kube_conn *conn)
{
	if (conn == NULL)
		return;
	if (conn->easy != NULL)
		conn->lib->easy_cleanup(conn->easy);
	if (conn->multi != NULL)
		IGNORE(conn->lib->multi_cleanup(conn->multi));
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
	IGNORE(conn->lib->multi_wakeup(conn->multi));
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
