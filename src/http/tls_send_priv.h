/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How records of a TLS session are sent. libmicrohttpd sends the head of a reply and its body one after
 * the other; here the head waits for the body, so that both leave with one system call and wake the
 * client once. */
#pragma once

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Of the thread that sends. */
struct http_tls_send {
	int fd;
	bool hold;	    /* the next record waits for the one after it */
	struct strbuf held; /* encrypted, to be sent first */
	size_t held_sent;   /* bytes of it that are sent */
};

/* The session sends on `fd` through `send` from now on, until it is gone. */
void http_tls_send_init(struct http_tls_send *send, gnutls_session_t session, int fd);
void http_tls_send_done(struct http_tls_send *send);
/* The next record is not sent before the one that follows it; the caller knows that one will. */
void http_tls_send_hold(struct http_tls_send *send);
