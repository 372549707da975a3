/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a call ended: its code, and a sentence with origin, phase, reason and what to do. */
#pragma once

#include "http/client/transfer_priv.h"

/* From libcurl's result, or what a callback returned. */
void http_outcome_from_curl(struct http_transfer *transfer, CURLcode code);
/* Without libcurl's word: refused, timed out or cancelled, for the reason in `transfer->reason`
 * (empty: the text of the code). */
void http_outcome_fail(struct http_transfer *transfer, int result);
/* No byte came for too long (`stalled`), or all took too long. */
void http_outcome_timeout(struct http_transfer *transfer, bool stalled);
