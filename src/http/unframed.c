/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests whose end cannot be determined. They are answered at once, and their connection ends: where a
 * length is said twice others may see the next request elsewhere than the library does, and with a
 * coding it does not know the library would wait for the end of the connection, the client for an
 * answer (RFC 9112 6.1, 6.3). */
#include "http/unframed_priv.h"

#include <string.h>
#include <sys/socket.h>
#include <time.h>

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
