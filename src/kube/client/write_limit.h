/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A limit on writes that several connections share: a rate per second, and a burst after a pause.
 * Reads and watches are not limited. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct kube_write_limit {
	pthread_mutex_t lock;  /* guards next_ns */
	uint64_t interval_ns;  /* between two; 0: no limit */
	uint64_t tolerance_ns; /* how far ahead of that a burst may run */
	uint64_t reserve_ns;   /* less this, for those that are patient */
	uint64_t next_ns;      /* when the next one is due at a steady pace */
};

void kube_write_limit_init(struct kube_write_limit *limit);
void kube_write_limit_done(struct kube_write_limit *limit);
/* Before threads share it. per_s 0: no limit. */
void kube_write_limit_set(struct kube_write_limit *limit, unsigned per_s, unsigned burst);
/* Takes permission for one write and returns the nanoseconds to wait before it. Patient callers
 * leave a quarter of a burst to the others. Any thread. */
uint64_t kube_write_limit_take(struct kube_write_limit *limit, bool patient, uint64_t now_ns);
