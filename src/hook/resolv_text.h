/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text that a container's resolv.conf should have, from the text that it has and from the
 * container's annotations. Pure. */
#pragma once

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "hook/request.h"

enum {
	/* One page: so much is written at once, whatever happens (rewrite.h). */
	HOOK_RESOLV_BYTES_MAX = 4096,
	HOOK_DNS_CONFIG_BYTES_MAX = 64 << 10,
};

/* Whether the text may be taken for a resolver file: every line begins with a keyword of
 * resolv.conf(5) or is a comment. No other file is ever changed, whatever a mount's source names. */
bool hook_resolv_text_is_resolver_file(struct slice text);

/* Appends the new text, and to `notes` (may be NULL) a line for each remark of dns/podresolv about
 * it. Applied to its own result it gives the same text: the second container of a pod changes
 * nothing. Fails with the reason if the annotations are refused, or the current text cannot be
 * read and is needed. */
MUST_CHECK int hook_resolv_text_make(const struct hook_request *request, struct slice current,
				     struct strbuf *out, struct strbuf *notes, struct err_text err);
