/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes that others must not see: tokens, passwords and keys. Their memory is wiped before it is
 * given back, and nothing here prints them.
 *
 * A `struct secret` owns its bytes: { 0 } is an empty one, secret_done() wipes and frees. Where
 * a function fills a secret, what was in it before is wiped on success and stays on failure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum { SECRET_MAX_BYTES = 1 << 20 };

struct secret {
	char *p; /* terminated; NULL: nothing */
	size_t n;
};

void secret_set(struct secret *secret, struct slice value);
/* Wipes and frees; leaves an empty secret. For CLEANUP too. */
void secret_done(struct secret *secret);
/* The whole file, opened by its path each time: what is mounted is renewed by swapping links.
 * -errno; ERR_LIMIT beyond SECRET_MAX_BYTES. */
MUST_CHECK int secret_read(const char *path, struct secret *ret);
/* Standard base64 with padding; white space is passed over. ERR_PARSE. base/text/base64.h grows a
 * strbuf, which leaves copies of what it held behind. */
MUST_CHECK int secret_base64(struct slice text, struct secret *ret);

/* Equal bytes? The time that it takes depends on `len` alone, so that nobody learns a signature or
 * a token by measuring how much of a guess was right. */
bool secret_same_bytes(const void *left, const void *right, size_t len);
/* The same for two secrets; their lengths are no secret. */
bool secret_eq(const struct secret *left, const struct secret *right);

static inline struct slice secret_slice(const struct secret *secret)
{
	return (struct slice){ secret->p, secret->n };
}

/* From now on this process and its children leave no core dump, in which all their secrets would be. */
void secret_forbid_core_dumps(void);

/* Wipes the buffer's memory, then frees it. For CLEANUP too. */
void secret_wipe_strbuf(struct strbuf *out);
