/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead apply --wait`: waits until controllers are done with the objects that were applied, and shows
 * how far they are: on a terminal a line with a bar, else a line for each change. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "cmd/kubecli.h"
#include "kube/client/object.h"

struct apply_wait_object;

struct apply_wait {
	struct kubecli *cli;
	uint64_t timeout_ns;

	/* Its own: */
	struct map objects; /* by kind, namespace and name: struct apply_wait_object */
	size_t n_done, n_failed;
	uint64_t began_ns, shown_ns;
	size_t shown; /* what the last line said of done and failed ones */
};

void apply_wait_init(struct apply_wait *wait, struct kubecli *cli, uint64_t timeout_ns);
void apply_wait_done(struct apply_wait *wait);
/* An object that was applied; kinds that report nothing are not waited for. Copies. */
void apply_wait_add(struct apply_wait *wait, const struct kube_ref *ref);
/* Until all are settled or have failed, or the time is over. False after a line on standard error for
 * each that is not settled, or for an API that does not answer. */
MUST_CHECK bool apply_wait_run(struct apply_wait *wait);
