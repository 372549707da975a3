/* Objects that cannot be read: what is said of them, and that it is said once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/* Of so many the last ones are remembered; more would be said again with each list. */
enum { KUBE_BAD_MAX = 256 };

struct kube_bad {
	uint64_t said[KUBE_BAD_MAX]; /* hashes of their bytes */
	uint32_t n;		     /* all that were ever said */
};

/* A sentence without any of the content but its name; false: it was said of the same bytes before.
 * `why` is what the decoder gave. */
bool kube_bad_say(struct kube_bad *bad, const char *plural, struct slice json, int why, char *out,
		  size_t len);
