/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes as one UPDATE message: guards become prerequisites, and each set is deleted and added whole
 * (Knot ignores the addition of a record that differs in its TTL only). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "provider/provider.h"

enum {
	RFC2136_MESSAGE_MAX = 65535,
	RFC2136_BATCH_BYTES = 62000, /* by rfc2136_message_measure(), which is not exact */
	RFC2136_MARK_NAME_MAX = 300, /* text */
};

/* What a PROVIDER_GUARD_OWNED was found to stand for. */
enum rfc2136_owned {
	RFC2136_OWNED_MISSING,	/* there is no such set */
	RFC2136_OWNED_MARKED,	/* the record beside it has our mark */
	RFC2136_OWNED_UNMARKED, /* it has no mark, and its values are those of before */
};

struct rfc2136_batch {
	const uint8_t *zone; /* wire form */
	struct provider_change *changes;
	size_t n_changes;
	bool has_marks;
	bool drops_marks; /* there were marks: ours are deleted with their sets */
	/* Of edit j of change i at [i * PROVIDER_EDITS_MAX + j]; NULL: all are missing. */
	const uint8_t *owned;
};

/* The name of the TXT record that holds the mark of a set. */
void rfc2136_mark_name(const struct provider_rrset *set, char out[RFC2136_MARK_NAME_MAX]);

/* Gives changes that cannot be sent at all a result of their own; how many. */
size_t rfc2136_message_check(const struct rfc2136_batch *batch);
/* Writes the message of the first `count` changes, which were checked; its length, or ERR_SPACE. */
MUST_CHECK int rfc2136_message_write(const struct rfc2136_batch *batch, size_t count, uint8_t *msg,
				     size_t cap);
/* Writes a message that deletes exactly the records of these edits, which were checked, and their marks;
 * its length, or ERR_SPACE. It is shorter than the one that wrote them. */
MUST_CHECK int rfc2136_message_undo(const struct rfc2136_batch *batch,
				    const struct provider_edit *const *edits, size_t count,
				    uint8_t *msg, size_t cap);
/* For struct provider. */
struct provider_size rfc2136_message_measure(const struct provider_change *change);
