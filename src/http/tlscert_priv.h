/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of the HTTP server: the certificate a connection was accepted with. */
#pragma once

#include <gnutls/gnutls.h>

struct http_tls;
struct http_tls_pair;

/* Gives a session that has not begun its handshake the current certificate, which lives until
 * http_tls_pair_unref. */
struct http_tls_pair *http_tls_attach(struct http_tls *tls, gnutls_session_t session);
void http_tls_pair_unref(struct http_tls_pair *pair); /* NULL is fine */

/* The texts of the first pair, for the library that wants some. */
const char *http_tls_first_cert(const struct http_tls *tls);
const char *http_tls_first_key(const struct http_tls *tls);
