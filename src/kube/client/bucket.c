/* The allowance is one number: when the next write is due at a steady pace. Who takes one moves it
 * on; a burst may run ahead of it by the tolerance. */
#include "kube/client/bucket.h"

#include "base/clock.h"
#include "base/compiler.h"

void kube_bucket_init(struct kube_bucket *bucket)
{
	*bucket = (struct kube_bucket){ 0 };
	pthread_mutex_init(&bucket->lock, NULL);
}

void kube_bucket_done(struct kube_bucket *bucket)
{
	pthread_mutex_destroy(&bucket->lock);
}

void kube_bucket_set(struct kube_bucket *bucket, unsigned per_s, unsigned burst)
{
	bucket->interval_ns = per_s != 0 ? NS_PER_S / per_s : 0;
	bucket->tolerance_ns = burst > 1 ? (burst - 1) * bucket->interval_ns : 0;
	bucket->reserve_ns = burst / 4 * bucket->interval_ns;
	bucket->next_ns = 0;
}

uint64_t kube_bucket_take(struct kube_bucket *bucket, bool patient, uint64_t now_ns)
{
	uint64_t ahead = bucket->tolerance_ns - (patient ? bucket->reserve_ns : 0);
	if (bucket->interval_ns == 0)
		return 0;
	pthread_mutex_lock(&bucket->lock);
	uint64_t due = MAX(bucket->next_ns, now_ns);
	uint64_t wait = due > now_ns + ahead ? due - now_ns - ahead : 0;
	bucket->next_ns = due + bucket->interval_ns;
	pthread_mutex_unlock(&bucket->lock);
	return wait;
}
