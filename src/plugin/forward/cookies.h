/* DNS cookies towards upstreams (RFC 7873, RFC 9018): a number of ours that a forger cannot know,
 * and what the server gave us to prove that we are where we say we are. */
#pragma once

#include "plugin/forward/serve.h"

void forward_cookie_init(struct forward_up *up);
/* x->msg becomes a copy of f->msg with the cookies for this upstream. ERR_SPACE. */
MUST_CHECK int forward_cookie_message(struct forward_query *query, const struct forward_up *up,
				      struct resolve_exchange *exchange);
/* Looks at the cookie of the reply in q->resp and takes it away, with an OPT the client did not ask
 * for. */
enum forward_cookie forward_cookie_check(struct forward_query *query, struct forward_up *up,
					 const struct resolve_exchange *exchange);
