/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The limit on writes. Its state is one number: when the next write is due at a steady rate. Each
 * write moves it on; a burst may run ahead of it by the tolerance. */
#include "kube/client/write_limit.h"

#include <assert.h>

#include "base/clock.h"
#include "base/compiler.h"

void kube_write_limit_init(struct kube_write_limit *limit)
{
	*limit = (struct kube_write_limit){ 0 };
	pthread_mutex_init(&limit->lock, NULL);
}

void kube_write_limit_done(struct kube_write_limit *limit)
{
	pthread_mutex_destroy(&limit->lock);
}

void kube_write_limit_set(struct kube_write_limit *limit, unsigned per_s, unsigned burst)
{
	limit->interval_ns = per_s != 0 ? NS_PER_S / per_s : 0;
	limit->tolerance_ns = burst > 1 ? (burst - 1) * limit->interval_ns : 0;
	limit->reserve_ns = burst / 4 * limit->interval_ns;
	limit->next_ns = 0;
	assert(limit->reserve_ns <= limit->tolerance_ns);
}

uint64_t kube_write_limit_take(struct kube_write_limit *limit, bool patient, uint64_t now_ns)
{
	uint64_t ahead = limit->tolerance_ns - (patient ? limit->reserve_ns : 0);
	if (limit->interval_ns == 0)
		return 0;
	pthread_mutex_lock(&limit->lock);
	uint64_t due = MAX(limit->next_ns, now_ns);
	uint64_t wait = due > now_ns + ahead ? due - now_ns - ahead : 0;
	limit->next_ns = due + limit->interval_ns;
	pthread_mutex_unlock(&limit->lock);
	return wait;
}
