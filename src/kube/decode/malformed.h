/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports objects that cannot be decoded: one sentence for each, and only once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/* So many are remembered; beyond that, an object is reported again with each list. */
enum { KUBE_MALFORMED_MAX = 256 };

struct kube_malformed {
	uint64_t reported[KUBE_MALFORMED_MAX]; /* hashes of their bytes */
	uint32_t count;			       /* of all reports so far */
};

/* Writes a sentence that holds nothing of the object but its name. False: the same bytes were
 * reported before. `why` is the decoder's error. */
bool kube_malformed_report(struct kube_malformed *malformed, const char *plural, struct slice json,
			   int why, char *out, size_t len);
