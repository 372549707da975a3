/* The allowance is one number: when the next write is due at a steady pace. Who takes one moves it
 * on; a burst may run ahead of it by the tolerance. */
#include "kube/bucket_priv.h"

#include "base/clock.h"
#include "base/compiler.h"

void kube_bucket_init(struct kube_bucket *b)
{
	*b = (struct kube_bucket){ 0 };
	pthread_mutex_init(&b->lock, NULL);
}

void kube_bucket_done(struct kube_bucket *b)
{
	pthread_mutex_destroy(&b->lock);
}

void kube_bucket_set(struct kube_bucket *b, unsigned per_s, unsigned burst)
{
	b->interval_ns = per_s != 0 ? NS_PER_S / per_s : 0;
	b->tolerance_ns = burst > 1 ? (burst - 1) * b->interval_ns : 0;
	b->reserve_ns = burst / 4 * b->interval_ns;
	b->next_ns = 0;
}

uint64_t kube_bucket_take(struct kube_bucket *b, bool patient, uint64_t now_ns)
{
	uint64_t ahead = b->tolerance_ns - (patient ? b->reserve_ns : 0);
	if (b->interval_ns == 0)
		return 0;
	pthread_mutex_lock(&b->lock);
	uint64_t due = MAX(b->next_ns, now_ns);
	uint64_t wait = due > now_ns + ahead ? due - now_ns - ahead : 0;
	b->next_ns = due + b->interval_ns;
	pthread_mutex_unlock(&b->lock);
	return wait;
}
