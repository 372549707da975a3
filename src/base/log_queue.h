/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines from workers: one single-producer ring per slot and one writer thread for all. A full ring
 * drops the line and counts it; nothing here blocks a worker, allocates or makes a system call (the
 * writer polls with a short, growing nap, so no wake-up is needed). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum { LOGQ_RING_BYTES = 256 * 1024, LOGQ_LINE_MAX = 8 * 1024 };

struct log_queue;

/* `slots` producers, numbered from 0; writes to fd. Starts the writer thread. Rings are mapped
 * lazily by the kernel (mmap), so idle memory stays small. */
struct log_queue *log_queue_new(unsigned slots, int fd);
/* Writes what is left, stops the thread. NULL is fine. */
void log_queue_free(struct log_queue *log_queue);
/* Room for up to `max` bytes in the slot's ring, or NULL (counted) when full or max >
 * LOGQ_LINE_MAX. */
char *log_queue_reserve(struct log_queue *log_queue, unsigned slot, size_t max);
/* Publishes the first n bytes of what was reserved; n may be 0. */
void log_queue_commit(struct log_queue *log_queue, unsigned slot, size_t count);
