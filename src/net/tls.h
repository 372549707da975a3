/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TLS over a connected, non-blocking socket (GnuTLS): credentials that threads share, and sessions
 * of one thread each. TLS 1.2 and 1.3.
 *
 * Every call that may have to wait returns -EAGAIN instead; net_tls_wants_write then says which
 * readiness to wait for before it is repeated. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/err_text.h"

struct net_tls;
struct net_tls_cred;

enum net_tls_auth { /* what a server asks of clients, as CoreDNS's `client_auth` names it */
		    NET_TLS_NOCERT,
		    NET_TLS_REQUEST,
		    NET_TLS_REQUIRE,
		    NET_TLS_VERIFY_IF_GIVEN,
		    NET_TLS_REQUIRE_AND_VERIFY,
};

struct net_tls_files {
	const char *cert; /* PEM chain; NULL: none (clients) */
	const char *key;
	const char *ca; /* PEM; NULL: the system's (servers: where `auth` verifies) */
	enum net_tls_auth auth;
	const char *keylog; /* servers: secrets of sessions are appended here; NULL: none */
};

/* Reads the files. ERR_PARSE or -errno; `err` gets a sentence that names the file. Counted
 * references, any thread. */
MUST_CHECK int net_tls_server_cred(const struct net_tls_files *files, struct net_tls_cred **ret,
				   struct err_text err);
MUST_CHECK int net_tls_client_cred(const struct net_tls_files *files, struct net_tls_cred **ret,
				   struct err_text err);
struct net_tls_cred *net_tls_cred_ref(struct net_tls_cred *cred);
void net_tls_cred_unref(struct net_tls_cred *cred); /* NULL is fine */

/* A session on `fd`, which stays the caller's. `alpn`: protocols in order of preference, ended by
 * NULL; NULL: none. A server refuses a client whose list has none of its own. */
MUST_CHECK int net_tls_accept(struct net_tls_cred *cred, int fd, const char *const *alpn,
			      struct net_tls **ret);
/* `name` is sent (unless an address) and verified, also when it is an address. `resume`: bytes of
 * net_tls_ticket of an earlier session, or NULL. */
struct net_tls_ticket {
	uint8_t *p;
	size_t n;
};
MUST_CHECK int net_tls_connect(struct net_tls_cred *cred, int fd, const char *name,
			       const char *const *alpn, const struct net_tls_ticket *resume,
			       struct net_tls **ret);
void net_tls_free(struct net_tls *tls); /* NULL is fine; sends nothing */

/* 0: done. -EAGAIN, -errno, or ERR_TLS: see net_tls_error. */
MUST_CHECK int net_tls_handshake(struct net_tls *tls);
/* Bytes; 0: the peer said goodbye (or closed); -EAGAIN, -errno, ERR_TLS. */
MUST_CHECK ssize_t net_tls_recv(struct net_tls *tls, void *buf, size_t len);
/* After -EAGAIN the same bytes must be given again. */
MUST_CHECK ssize_t net_tls_send(struct net_tls *tls, const void *buf, size_t len);
/* Says goodbye as far as the socket takes it. */
void net_tls_bye(struct net_tls *tls);

bool net_tls_wants_write(const struct net_tls *tls);
/* Decrypted bytes not yet received: no readiness will announce them. */
size_t net_tls_pending(const struct net_tls *tls);
const char *net_tls_alpn(const struct net_tls *tls);  /* chosen; "" when none */
const char *net_tls_error(const struct net_tls *tls); /* of the last ERR_TLS */
/* What resumes this session later; ret->p NULL when there is nothing yet. Free with free(). */
void net_tls_ticket_take(struct net_tls *tls, struct net_tls_ticket *ret);
