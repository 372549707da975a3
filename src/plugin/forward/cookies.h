/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS cookies towards upstreams (RFC 7873, RFC 9018): our client cookie, which an attacker cannot
 * know, and the server's cookie, which proves that we own our address. */
#pragma once

#include "plugin/forward/serve.h"

void forward_cookie_init(struct forward_up *up);
/* x->msg becomes a copy of f->msg with the cookies for this upstream. ERR_SPACE. */
MUST_CHECK int forward_cookie_message(struct forward_query *query, const struct forward_up *up,
				      struct resolve_exchange *exchange);
/* Checks the cookie of the reply in q->resp and removes it, with an OPT that the client did not ask
 * for. */
enum forward_cookie forward_cookie_check(struct forward_query *query, struct forward_up *up,
					 const struct resolve_exchange *exchange);
