/* Lines from workers: one single-producer ring per slot and one writer thread for all. A full ring
 * drops the line and counts it; nothing here blocks a worker, allocates or makes a system call (the
 * writer polls with a short, growing nap, so no wake-up is needed). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum { LOGQ_RING_BYTES = 256 * 1024, LOGQ_LINE_MAX = 8 * 1024 };

struct logq;

/* `slots` producers, numbered from 0; writes to fd. Starts the writer thread. Rings are mapped
 * lazily by the kernel (mmap), so idle memory stays small. */
struct logq *logq_new(unsigned slots, int fd);
/* Writes what is left, stops the thread. NULL is fine. */
void logq_free(struct logq *logq);
/* Room for up to `max` bytes in the slot's ring, or NULL (counted) when full or max >
 * LOGQ_LINE_MAX. */
char *logq_reserve(struct logq *logq, unsigned slot, size_t max);
/* Publishes the first n bytes of what was reserved; n may be 0. */
void logq_commit(struct logq *logq, unsigned slot, size_t count);
