/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Continue tokens of paged lists: where the next page begins and at which revision all pages are
 * read. Base64 of {"v":"meta.k8s.io/v1","rv":7,"start":"name\u0000"}, as the server makes them. */
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "base/strbuf.h"

enum { APISERVER_CONTINUE_TOKEN_MAX_BYTES = 4096 };

/* Appends the token after `key`, the last key of a page of the list with this prefix. rv -1: go on
 * at the newest revision. */
void apiserver_continue_token_make(struct strbuf *out, const char *key, const char *prefix,
				   int64_t rv);
/* Sets the key after which to go on. ERR_PARSE with the server's message in `err`. */
MUST_CHECK int apiserver_continue_token_read(const char *token, const char *prefix,
					     struct strbuf *ret_after, int64_t *ret_rv,
					     struct strbuf *err);
