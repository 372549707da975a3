/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes that others must not see: tokens and keys. Their memory is wiped before it is given back;
 * they are never printed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum { KUBE_SECRET_MAX_BYTES = 1 << 20 };

struct kube_secret {
	char *p; /* terminated; NULL: nothing */
	size_t n;
};

void kube_secret_set(struct kube_secret *secret, struct slice value);
void kube_secret_done(struct kube_secret *secret);
/* The whole file, opened by its path each time: what is mounted is renewed by swapping links.
 * -errno; ERR_LIMIT beyond KUBE_SECRET_MAX_BYTES. */
MUST_CHECK int kube_secret_read(const char *path, struct kube_secret *ret);
/* Standard base64 with padding; white space is passed over. ERR_PARSE. base/base64.h grows a
 * strbuf, which leaves copies of what it held behind. */
MUST_CHECK int kube_secret_base64(struct slice text, struct kube_secret *ret);
bool kube_secret_eq(const struct kube_secret *left, const struct kube_secret *right);

static inline struct slice kube_secret_slice(const struct kube_secret *secret)
{
	return (struct slice){ secret->p, secret->n };
}

/* Wipes, then frees. For CLEANUP too. */
void kube_secret_wipe(struct strbuf *out);
/* Overwrites every text in the tree, then drops the reference, which must be the only one. */
void kube_secret_wipe_tree(json_t *value);
