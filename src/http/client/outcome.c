/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns the end of a transfer into a code of base/err.h and a sentence for people. */
#include "http/client/outcome_priv.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"

static const struct {
	CURLcode code;
	int err;
	bool reset; /* there was a connection */
	const char *advice;
} curl_codes[] = {
	{ CURLE_RECV_ERROR, ERR_CLOSED, true, NULL },
	{ CURLE_SEND_ERROR, ERR_CLOSED, true, NULL },
	{ CURLE_GOT_NOTHING, ERR_CLOSED, true, NULL },
	{ CURLE_PARTIAL_FILE, ERR_CLOSED, true, NULL },
	{ CURLE_SEND_FAIL_REWIND, ERR_CLOSED, true, NULL },
	{ CURLE_HTTP2, ERR_CLOSED, true, NULL },
	{ CURLE_HTTP2_STREAM, ERR_CLOSED, true, NULL },
	{ CURLE_COULDNT_CONNECT, ERR_CLOSED, false,
	  "check that the server runs and that no firewall is in between" },
	{ CURLE_COULDNT_RESOLVE_HOST, ERR_CLOSED, false,
	  "check the name, and the name servers of this machine" },
	{ CURLE_COULDNT_RESOLVE_PROXY, ERR_CLOSED, false,
	  "check the name of the proxy, and the name servers of this machine" },
	{ CURLE_PROXY, ERR_CLOSED, false, "check the proxy" },
	{ CURLE_OPERATION_TIMEDOUT, ERR_TIMEOUT, false, NULL },
	{ CURLE_SSL_CONNECT_ERROR, ERR_TLS, false, NULL },
	{ CURLE_PEER_FAILED_VERIFICATION, ERR_TLS, false, NULL },
	{ CURLE_SSL_CERTPROBLEM, ERR_TLS, false, "check the client certificate and its key" },
	{ CURLE_SSL_CACERT_BADFILE, ERR_TLS, false, "check the certificate authority" },
	{ CURLE_SSL_ISSUER_ERROR, ERR_TLS, false, NULL },
	{ CURLE_SSL_CIPHER, ERR_TLS, false, NULL },
	{ CURLE_WEIRD_SERVER_REPLY, ERR_PARSE, false, "is this port HTTP's?" },
	{ CURLE_UNSUPPORTED_PROTOCOL, ERR_PARSE, false, "is this port HTTP's?" },
	{ CURLE_BAD_CONTENT_ENCODING, ERR_PARSE, false, NULL },
	{ CURLE_URL_MALFORMAT, ERR_CONFIG, false, NULL },
};

static const struct {
	const char *doing;
	const char *advice; /* when it took too long */
} phases[] = {
	[HTTP_QUEUED] = { "waiting for other calls to this host",
			  "they take long, or are too many" },
	[HTTP_RESOLVE] = { "resolving the host name", "check the name servers of this machine" },
	[HTTP_CONNECT] = { "connecting", "the host is down, or a firewall drops packets" },
	[HTTP_TLS] = { "TLS handshake", "is this port TLS's?" },
	[HTTP_SEND] = { "sending the request", "the server has stopped reading" },
	[HTTP_WAIT] = { "waiting for the reply",
			"the server has the request and may still act on it" },
	[HTTP_RECEIVE] = { "receiving the reply", NULL },
};

/* libcurl does not report when TCP is connected and the handshake begins. A socket that was closed
 * meanwhile, its number used again, would only make the words less exact. */
static void refine_phase(struct http_transfer *transfer)
{
	struct sockaddr_storage peer;
	socklen_t n = sizeof(peer);
	if (transfer->call->phase == HTTP_CONNECT && transfer->to.tls &&
	    (strncmp(transfer->curl_reason, "SSL", 3) == 0 ||
	     (transfer->socket >= 0 &&
	      getpeername(transfer->socket, (struct sockaddr *)&peer, &n) == 0)))
		transfer->call->phase = HTTP_TLS;
}

static void add_origin(const struct http_transfer *transfer, struct strbuf *out)
{
	const struct http_url *to = &transfer->to;
	if (to->host.p == NULL) {
		strbuf_addf(out, "%s request", transfer->call->method); /* a URL may hold secrets */
		return;
	}
	strbuf_adds(out, to->tls ? "https://" : "http://");
	if (transfer->call->connect_to != NULL)
		strbuf_adds(out, transfer->call->connect_to);
	else
		strbuf_addf(out, "%.*s:%u", (int)to->host.n, to->host.p, to->port);
}

static void set_error(struct http_transfer *transfer, int result, const char *advice)
{
	struct http_call *call = transfer->call;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	add_origin(transfer, &text);
	if (transfer->to.host.p != NULL && transfer->refused == 0)
		strbuf_addf(&text, ": %s", phases[call->phase].doing);
	strbuf_addf(&text, ": %s",
		    transfer->reason[0] != '\0' ? transfer->reason : err_str(result));
	if (advice != NULL)
		strbuf_addf(&text, "; %s", advice);
	snprintf(call->error, sizeof(call->error), "%s", text.s);
	call->result = result;
}

void http_outcome_fail(struct http_transfer *transfer, int result)
{
	set_error(transfer, result, NULL);
}

void http_outcome_timeout(struct http_transfer *transfer, bool stalled)
{
	const struct http_call *call = transfer->call;
	uint64_t ns = stalled		      ? http_transfer_stall_ns(transfer)
		      : call->timeout_ns != 0 ? call->timeout_ns
					      : HTTP_CALL_TIMEOUT_S * NS_PER_S;
	snprintf(transfer->reason, sizeof(transfer->reason), "%s %llu ms",
		 stalled ? "no data received for" : "not done within",
		 (unsigned long long)(ns / NS_PER_MS));
	refine_phase(transfer);
	set_error(transfer, ERR_TIMEOUT, phases[call->phase].advice);
}

/* libcurl's own words are about its callbacks, or name a file in memory. */
static void take_curl_reason(struct http_transfer *transfer, CURLcode code)
{
	static const char untrusted[] = "server certificate verification failed";
	struct http_call *call = transfer->call;
	bool own_ca = call->tls != NULL && call->tls->ca != NULL;
	char *out = transfer->reason;
	size_t size = sizeof(transfer->reason);
	call->untrusted = strncmp(transfer->curl_reason, untrusted, strlen(untrusted)) == 0;
	call->other_host = strstr(transfer->curl_reason, "does not match target host") != NULL;
	if (code == CURLE_SEND_FAIL_REWIND)
		snprintf(out, size, "the connection ended while the request was sent");
	else if (call->untrusted)
		snprintf(out, size,
			 "its certificate is not trusted: it has expired, or was not signed by %s",
			 own_ca ? "the configured certificate-authority" : "a CA of this system");
	else if (call->other_host)
		snprintf(out, size, "its certificate is for another host than '%.*s'",
			 (int)transfer->to.host.n, transfer->to.host.p);
	else
		snprintf(out, size, "%s",
			 transfer->curl_reason[0] != '\0' ? transfer->curl_reason
							  : transfer->lib->easy_strerror(code));
}

/* How libcurl reports a header line that is too long for it. Memory itself cannot be the reason: a
 * program without any has ended. */
static bool is_line_too_long(const struct http_transfer *transfer, CURLcode code)
{
	return code == CURLE_OUT_OF_MEMORY && !transfer->head_done &&
	       transfer->call->phase >= HTTP_WAIT;
}

static void refuse_line(struct http_transfer *transfer)
{
	transfer->call->phase = HTTP_RECEIVE;
	snprintf(transfer->reason, sizeof(transfer->reason),
		 "a header line of the reply is longer than the %d bytes that are accepted",
		 HTTP_REPLY_LINE_BYTES);
	set_error(transfer, ERR_LIMIT, NULL);
}

static void fail_by_curl(struct http_transfer *transfer, CURLcode code)
{
	struct http_call *call = transfer->call;
	if (is_line_too_long(transfer, code)) {
		refuse_line(transfer);
		return;
	}
	take_curl_reason(transfer, code);
	refine_phase(transfer);
	for (size_t i = 0; i < ARRAY_LEN(curl_codes); i++)
		if (curl_codes[i].code == code) {
			call->reset = curl_codes[i].reset;
			if (curl_codes[i].err == ERR_TLS && call->phase == HTTP_CONNECT)
				call->phase = HTTP_TLS; /* nothing had to be waited for in it */
			set_error(transfer, curl_codes[i].err,
				  curl_codes[i].err == ERR_TIMEOUT ? phases[call->phase].advice
								   : curl_codes[i].advice);
			return;
		}
	set_error(transfer, ERR_CLOSED, NULL);
}

void http_outcome_from_curl(struct http_transfer *transfer, CURLcode code)
{
	if (transfer->callback_error < 0)
		set_error(transfer, transfer->callback_error, NULL);
	else if (code != CURLE_OK)
		fail_by_curl(transfer, code);
	else
		transfer->call->result = 0;
}
