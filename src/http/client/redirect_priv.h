/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of a reply that sends the client elsewhere. */
#pragma once

#include "base/compiler.h"
#include "http/client/transfer_priv.h"

/* For a transfer that has ended well, before its handle is reset. 0: its reply is the call's; 1: the
 * same call again, to the new `transfer->url`; ERR_DENIED, with the sentence in `reason`. */
MUST_CHECK int http_redirect_check(struct http_transfer *transfer);
