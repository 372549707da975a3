/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The certificate of an HTTPS server. It may be exchanged at any time: connections that exist go
 * on, new ones get the new one. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"

enum { HTTP_TLS_PEM_MAX_BYTES = 256 * 1024 };

struct http_tls;

/* PEM: the chain with the server's own certificate first; its key. ERR_PARSE (ERR_CONFIG: the key
 * is not the certificate's) with a sentence in `err`. */
MUST_CHECK int http_tls_new(struct slice cert, struct slice key, struct http_tls **ret,
			    struct err_text err);
/* From any thread. What was there stays when it fails. */
MUST_CHECK int http_tls_set(struct http_tls *tls, struct slice cert, struct slice key,
			    struct err_text err);
/* After the servers that use it; NULL is fine. */
void http_tls_free(struct http_tls *tls);
