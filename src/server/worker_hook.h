/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work put off to the end of a worker's batch, so that what its queries want to send leaves
 * together. */
#pragma once

#include <stdbool.h>

struct worker;

/* fn runs once for each arming, before the replies leave; queries it resumes go on in the next
 * turn. Embed one, zeroed but for fn; disarm it before it is freed. */
struct worker_hook {
	struct worker_hook *next;
	void (*fn)(struct worker_hook *hook);
	bool armed;
};

/* Worker's thread only. Arming one that is armed does nothing. */
void worker_hook_arm(struct worker *worker, struct worker_hook *hook);
void worker_hook_disarm(struct worker *worker, struct worker_hook *hook);
/* Runs those that are armed; at the end of a batch. */
void worker_hook_run_all(struct worker *worker);
