/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests whose end cannot be determined. They are answered at once, and their connection ends: where a
 * length is said twice others may see the next request elsewhere than the library does, and with a
 * coding it does not know the library would wait for the end of the connection, the client for an
 * answer (RFC 9112 6.1, 6.3). */
#include "http/unframed_priv.h"

#include <assert.h>
#include <gnutls/gnutls.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "http/mhd_priv.h"

struct framing {
	unsigned lengths; /* number of Content-Length and Transfer-Encoding headers */
	bool unknown;	  /* in a way that is not known here */
};

static enum MHD_Result count_framing_field(void *ctx, enum MHD_ValueKind kind, const char *name,
					   const char *value)
{
	struct framing *f = ctx;
	struct slice field = slice_of(name);
	bool coding = slice_eq_nocase(field, SLICE(MHD_HTTP_HEADER_TRANSFER_ENCODING));
	(void)kind;
	f->lengths += coding || slice_eq_nocase(field, SLICE(MHD_HTTP_HEADER_CONTENT_LENGTH));
	f->unknown |= coding && !slice_eq_nocase(slice_trim(slice_of(value)), SLICE("chunked"));
	return MHD_YES;
}

static enum MHD_Result answer_and_close(struct MHD_Connection *mc, unsigned status,
					const char *text)
{
	struct MHD_Response *resp = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
	if (resp == NULL)
		return MHD_NO;
	MHD_add_response_header(resp, MHD_HTTP_HEADER_CONTENT_TYPE, http_plain_text);
	MHD_add_response_header(resp, MHD_HTTP_HEADER_CONNECTION, "close");
	enum MHD_Result ok = MHD_queue_response(mc, status, resp);
	MHD_destroy_response(resp);
	return ok;
}

bool http_refuse_framing(struct http_conns *conns, struct MHD_Connection *mc, enum MHD_Result *ret)
{
	struct framing f = { 0 };
	http_head_ended(conns, http_conn_of(mc));
	MHD_get_connection_values(mc, MHD_HEADER_KIND, count_framing_field, &f);
	if (f.lengths > 1)
		*ret = answer_and_close(mc, MHD_HTTP_BAD_REQUEST,
					"400 more than one Content-Length or Transfer-Encoding\n");
	else if (f.unknown)
		*ret = answer_and_close(mc, MHD_HTTP_NOT_IMPLEMENTED,
					"501 unsupported transfer encoding: send chunked\n");
	return f.lengths > 1 || f.unknown;
}

/* --- a Content-Length that is no number ---
 *
 * libmicrohttpd refuses it by itself, before the handler is called, and 0.9.75 writes the header of
 * that reply twice: parse_connection_headers queues the reply, then MHD_connection_handle_idle goes
 * on as if there were none. A client would read the second header as the body. The one callback
 * between the end of the header and that reply is the library's log. So connections whose header
 * is being received are in a list, and when the library logs anything while one of them has its
 * header whole, that is the one it is about to refuse: the answer is written here, and the
 * connection cut, before the library writes its own. */

void *http_head_begun(void *ctx, const char *uri, struct MHD_Connection *mc)
{
	struct http_conns *conns = ctx;
	struct http_conn *conn = http_conn_of(mc);
	(void)uri;
	assert(conn != NULL && !conn->in_head);
	atomic_store_explicit(&conns->thread, pthread_self(), memory_order_relaxed);
	conn->in_head = true;
	conn->next_in_head = conns->in_head;
	conns->in_head = conn;
	return NULL; /* the handler's slot */
}

void http_head_ended(struct http_conns *conns, struct http_conn *conn)
{
	if (conn == NULL || !conn->in_head)
		return;
	struct http_conn **at = &conns->in_head;
	while (*at != conn)
		at = &(*at)->next_in_head;
	*at = conn->next_in_head;
	conn->in_head = false;
}

/* Is its header whole, and nothing answered yet? (Other headers are refused before they are whole.) */
static bool is_undecided(const struct http_conn *conn)
{
	return MHD_get_connection_info(conn->mc, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE) != NULL &&
	       MHD_get_connection_info(conn->mc, MHD_CONNECTION_INFO_HTTP_STATUS) == NULL;
}

/* At most one is: no handler has seen its request, and the library goes on with no other before
 * one has. NULL: none. */
static struct http_conn *find_undecided(const struct http_conns *conns)
{
	struct http_conn *conn = conns->in_head;
	while (conn != NULL && !is_undecided(conn))
		conn = conn->next_in_head;
	return conn;
}

/* The status of a reply to a length that the library refuses; 0: it is a number. */
static unsigned length_status(struct slice length)
{
	uint64_t number;
	if (slice_u64(length, &number) >= 0)
		return 0;
	for (size_t i = 0; i < length.n; i++) {
		if (!ascii_isdigit(length.p[i]))
			return MHD_HTTP_BAD_REQUEST;
	}
	return length.n == 0 ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_CONTENT_TOO_LARGE;
}

static void write_refusal(unsigned status, struct strbuf *out)
{
	const char *text = status == MHD_HTTP_BAD_REQUEST
				   ? "400 the length of the body is no number\n"
				   : "413 the length of the body is too large a number\n";
	time_t now = (time_t)(clock_wall_ns() / NS_PER_S);
	struct tm parts;
	char date[sizeof("Mon, 02 Jan 2006 15:04:05 GMT") + 8];
	gmtime_r(&now, &parts);
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &parts);
	strbuf_addf(out,
		    "HTTP/1.1 %u %s\r\nDate: %s\r\nConnection: close\r\nContent-Type: %s\r\n"
		    "Content-Length: %zu\r\n\r\n%s",
		    status, MHD_get_reason_phrase_for(status), date, http_plain_text, strlen(text),
		    text);
}

/* Writes to the client past the library, as far as the socket accepts it: earlier replies of the
 * connection are sent, as the library reads no request before. */
static void send_directly(const struct http_conns *conns, const struct http_conn *conn,
			  struct slice text)
{
	if (conns->tls == NULL) {
		send(conn->fd, text.p, text.n, MSG_NOSIGNAL | MSG_DONTWAIT);
		return;
	}
	gnutls_session_t session =
		MHD_get_connection_info(conn->mc, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session;
	if (gnutls_record_send(session, text.p, text.n) > 0)
		gnutls_bye(session, GNUTLS_SHUT_WR);
}

void http_head_refused(void *ctx, const char *format, va_list args)
{
	CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
	struct http_conns *conns = ctx;
	(void)format;
	(void)args;
	/* Starting, stopping and resuming may log from other threads. */
	if (!pthread_equal(atomic_load_explicit(&conns->thread, memory_order_relaxed),
			   pthread_self()))
		return;
	struct http_conn *conn = find_undecided(conns);
	if (conn == NULL || conn->cut)
		return;
	const char *length = MHD_lookup_connection_value(conn->mc, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_CONTENT_LENGTH);
	unsigned status = length != NULL ? length_status(slice_of(length)) : 0;
	if (status == 0)
		return;
	http_head_ended(conns, conn);
	write_refusal(status, &reply);
	send_directly(conns, conn, strbuf_slice(&reply));
	http_conns_cut(conns, conn);
}
