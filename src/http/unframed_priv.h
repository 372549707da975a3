/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests whose end cannot be determined. */
#pragma once

#include <stdarg.h>

#include "http/mhd_priv.h"

/* Of a request whose header was received: true if its end cannot be determined; then it is answered,
 * and *ret is what the handler returns to the library. */
MUST_CHECK bool http_refuse_framing(struct http_conns *conns, struct MHD_Connection *mc,
				    enum MHD_Result *ret);

/* The library's callbacks, of which `ctx` is the struct http_conns: it has received a request line,
 * and it has something to log. */
void *http_head_begun(void *ctx, const char *uri, struct MHD_Connection *mc);
void http_head_refused(void *ctx, const char *format, va_list args);
/* The header was received, or the connection ends. NULL is fine. */
void http_head_ended(struct http_conns *conns, struct http_conn *conn);
