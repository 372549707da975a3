/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns a call into options of a libcurl handle: URL, headers, body, TLS, proxy, time-outs. */
#include "http/client/options_priv.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

enum {
	MAX_IDLE_S = 80, /* many servers close an idle connection after 90 s: be first */
	UPLOAD_BUFFER_BYTES = 16 << 10,
};

#define USER_AGENT "fairlead/" FAIRLEAD_VERSION " (linux)"

#define SET(option, value) \
	IGNORE(transfer->lib->easy_setopt(transfer->easy, CURLOPT_##option, (value)))

static long to_ms(uint64_t ns)
{
	const uint64_t longest = INT32_MAX; /* 24 days */
	return (long)MIN(ns / NS_PER_MS + (ns % NS_PER_MS != 0), longest);
}

static void set_tls(struct http_transfer *transfer)
{
	static const struct http_client_tls system_authorities = { 0 };
	const struct http_call *call = transfer->call;
	const struct http_client_tls *tls = call->tls != NULL ? call->tls : &system_authorities;
	SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(SSL_VERIFYPEER, (long)!tls->insecure);
	SET(SSL_VERIFYHOST, tls->insecure ? 0L : 2L);
	/* By default each connection loads the system's whole bundle. */
	if (tls->ca != NULL || tls->insecure) {
		SET(CAINFO, tls->ca);
		SET(CAPATH, NULL);
	}
	SET(SSLCERT, tls->cert);
	SET(SSLKEY, tls->key);
	SET(SSL_SESSIONID_CACHE, 0L); /* a resumed session would keep an old identity */
}

/* The environment's proxy is not for this machine itself (as in Go). */
static bool is_loopback(const struct http_transfer *transfer)
{
	struct http_url to;
	if (transfer->call->unix_path != NULL)
		return true;
	if (transfer->call->connect_to == NULL)
		return http_url_is_loopback(&transfer->to);
	CLEANUP(freep) char *url = xasprintf("http://%s", transfer->call->connect_to);
	return http_url_parse(url, &to, (struct err_text){ 0 }) == 0 && http_url_is_loopback(&to);
}

static void set_proxy(struct http_transfer *transfer)
{
	const char *proxy = transfer->call->proxy;
	SET(SUPPRESS_CONNECT_HEADERS, 1L); /* the proxy's head is not the reply's */
	if (proxy != NULL)
		SET(PROXY, proxy);
	if (proxy != NULL || is_loopback(transfer))
		SET(NOPROXY, proxy != NULL ? "" : "*");
}

static void set_connection(struct http_transfer *transfer, bool http2)
{
	const struct http_call *call = transfer->call;
	uint64_t connect_ns =
		call->connect_ns != 0 ? call->connect_ns : HTTP_CONNECT_TIMEOUT_S * NS_PER_S;
	SET(NOSIGNAL, 1L);
	SET(PROTOCOLS_STR, "http,https");
	/* Over one connection for one call HTTP/1.1 was measured to be faster. */
	SET(HTTP_VERSION, (long)(http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
	SET(PIPEWAIT, (long)http2);
	SET(USERAGENT, USER_AGENT);
	SET(CONNECTTIMEOUT_MS, to_ms(connect_ns));
	SET(MAXAGE_CONN, (long)MAX_IDLE_S);
	SET(UPLOAD_BUFFERSIZE, (long)UPLOAD_BUFFER_BYTES);
	SET(QUICK_EXIT, 1L); /* a cancelled call does not wait for a name server */
	SET(FRESH_CONNECT, (long)call->fresh);
}

static void set_body(struct http_transfer *transfer)
{
	const struct http_call *call = transfer->call;
	bool unknown = call->read_body != NULL && call->read_bytes == 0;
	uint64_t total = call->read_body != NULL ? call->read_bytes : call->body.n;
	SET(POST, 1L);
	SET(POSTFIELDSIZE_LARGE, unknown ? (curl_off_t)-1 : (curl_off_t)total);
	/* What libcurl asks for piece by piece leaves after the head, in a packet of its own. */
	if (http_transfer_sends_at_once(transfer))
		SET(POSTFIELDS, call->body.p);
}

static void set_request(struct http_transfer *transfer)
{
	const struct http_call *call = transfer->call;
	SET(URL, transfer->url != NULL ? transfer->url : call->url);
	SET(CUSTOMREQUEST, call->method);
	SET(NOBODY, (long)(strcmp(call->method, "HEAD") == 0));
	SET(PATH_AS_IS, 1L); /* `a/..` in a path would become another one */
	if (call->gzip)
		SET(ACCEPT_ENCODING, "gzip");
	if (call->body.p != NULL || call->read_body != NULL)
		set_body(transfer);
}

/* ---- headers ---- */

static bool is_token(struct slice name)
{
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] <= ' ' || (unsigned char)name.p[i] >= 0x7f ||
		    strchr("()<>@,;:\\\"/[]?={}", name.p[i]) != NULL)
			return false;
	return name.n != 0;
}

/* A line break would begin another header, or another request. */
static bool is_field_value(struct slice value)
{
	for (size_t i = 0; i < value.n; i++)
		if (((unsigned char)value.p[i] < ' ' && value.p[i] != '\t') || value.p[i] == 0x7f)
			return false;
	return true;
}

static void append_line(struct http_transfer *transfer, struct curl_slist **list, const char *line)
{
	struct curl_slist *more = transfer->lib->slist_append(*list, line);
	assert(more != NULL); /* out of memory, as in base/mem.h */
	*list = more;
}

static int add_header(struct http_transfer *transfer, const struct http_header *header)
{
	if (!is_token(header->name)) {
		snprintf(transfer->reason, sizeof(transfer->reason),
			 "'%.*s' is not a name of a header", (int)MIN(header->name.n, (size_t)64),
			 header->name.n != 0 ? header->name.p : "");
		return ERR_CONFIG;
	}
	if (!is_field_value(header->value)) {
		snprintf(transfer->reason, sizeof(transfer->reason),
			 "the value of the header '%.*s' has a line break or control character",
			 (int)MIN(header->name.n, (size_t)64), header->name.p);
		return ERR_CONFIG;
	}
	size_t n = header->name.n + header->value.n + 3;
	CLEANUP(freep) char *line = xmalloc(n);
	/* libcurl: `Name;` is a header without a value, `Name:` none at all. */
	snprintf(line, n, "%.*s%s%.*s", (int)header->name.n, header->name.p,
		 header->value.n != 0 ? ": " : ";", (int)header->value.n,
		 header->value.n != 0 ? header->value.p : "");
	append_line(transfer, &transfer->headers, line);
	explicit_bzero(line, n); /* it may be a credential */
	return 0;
}

static int set_headers(struct http_transfer *transfer)
{
	const struct http_call *call = transfer->call;
	append_line(transfer, &transfer->headers, "Expect:"); /* no round trip before a body */
	if (call->read_body != NULL && call->read_bytes == 0)
		append_line(transfer, &transfer->headers, "Transfer-Encoding: chunked");
	for (size_t i = 0; i < call->n_headers; i++) {
		int r = add_header(transfer, &call->headers[i]);
		if (r < 0)
			return r;
	}
	SET(HTTPHEADER, transfer->headers);
	if (call->connect_to != NULL) {
		CLEANUP(freep) char *line = xasprintf("::%s", call->connect_to);
		append_line(transfer, &transfer->connect_to, line);
		SET(CONNECT_TO, transfer->connect_to);
	}
	if (call->unix_path != NULL)
		SET(UNIX_SOCKET_PATH, call->unix_path);
	return 0;
}

/* ---- all ---- */

int http_options_set(struct http_transfer *transfer, bool http2)
{
	const struct http_call *call = transfer->call;
	assert(call->method != NULL && call->url != NULL);
	assert(call->body.p == NULL || call->read_body == NULL);
	http_transfer_listen(transfer);
	int r = set_headers(transfer);
	if (r < 0)
		return r;
	set_connection(transfer, http2);
	set_tls(transfer);
	set_proxy(transfer);
	set_request(transfer);
	return 0;
}

void http_options_clear(struct http_transfer *transfer)
{
	if (transfer->easy != NULL)
		transfer->lib->easy_reset(transfer->easy);
	for (struct curl_slist *line = transfer->headers; line != NULL; line = line->next)
		explicit_bzero(line->data, strlen(line->data));
	transfer->lib->slist_free_all(transfer->headers);
	transfer->lib->slist_free_all(transfer->connect_to);
	transfer->headers = transfer->connect_to = NULL;
}
