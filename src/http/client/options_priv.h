/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of a libcurl handle for one call. */
#pragma once

#include "base/compiler.h"
#include "http/client/transfer_priv.h"

/* Sets all options for the call on a handle that has none. ERR_CONFIG with the sentence in `reason`:
 * a header cannot be. */
MUST_CHECK int http_options_set(struct http_transfer *transfer, bool http2);
/* Takes the options off again; wipes headers, which may be credentials. */
void http_options_clear(struct http_transfer *transfer);
