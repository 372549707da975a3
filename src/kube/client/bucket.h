/* How fast a client may write: so many per second, and so many at once after a pause. Reads and
 * watches are not counted. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct kube_bucket {
	pthread_mutex_t lock;  /* guards next_ns */
	uint64_t interval_ns;  /* between two; 0: no limit */
	uint64_t tolerance_ns; /* how far ahead of that a burst may run */
	uint64_t reserve_ns;   /* less this, for those that are patient */
	uint64_t next_ns;      /* when the next one is due at a steady pace */
};

void kube_bucket_init(struct kube_bucket *bucket);
void kube_bucket_done(struct kube_bucket *bucket);
/* Before threads share it. per_s 0: no limit. */
void kube_bucket_set(struct kube_bucket *bucket, unsigned per_s, unsigned burst);
/* Takes one; how long to wait before it may be used. Who is patient leaves a quarter of a burst to
 * the others. Any thread. */
uint64_t kube_bucket_take(struct kube_bucket *bucket, bool patient, uint64_t now_ns);
