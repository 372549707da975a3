/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ending an exchange: by an error, by a reply, or quietly. */
#pragma once

#include "resolve/types_priv.h"

/* Takes the exchange off its lists and restores the id and the case of letters in its message. */
void exchange_detach(struct resolver *resolver, struct resolve_exchange *exchange);
/* Ends it: done is called before the resolver is left. `code` is -errno or an ERR_ code. */
void exchange_fail(struct resolver *resolver, struct resolve_exchange *exchange,
		   enum resolve_result result, int code);
/* Ends it with a message that came for it and calls done. `cut`: the end of the message is missing.
 */
void exchange_reply(struct resolver *resolver, struct resolve_exchange *exchange, uint8_t *msg,
		    size_t len, bool cut);
