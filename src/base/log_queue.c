/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single-producer rings of whole lines and the thread that empties them. Positions only grow; a
 * record is its length (4 bytes) and its bytes, padded to 8, and never wraps: where it would, a
 * skip mark sends the reader to the ring's start. */
#include "base/log_queue.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log_queue_test.h"
#include "base/mem.h"

enum {
	HEADER_BYTES = 4,
	BATCH_BYTES = 64 * 1024,
	FIRST_NAP_NS = 100 * 1000,
	LONGEST_NAP_NS = 10 * 1000 * 1000,
	STOP_PATIENCE_MS = 1000, /* for a reader that stands still when the queue is freed */
};

#define SKIP UINT32_MAX

struct ring {
	CACHE_ALIGNED char *buf;
	/* Producer. */
	uint64_t reserved; /* where the reserved record starts */
	uint64_t seen_tail;
	_Atomic uint64_t head;
	_Atomic uint64_t dropped;
	/* Writer. */
	CACHE_ALIGNED _Atomic uint64_t tail;
};

struct log_queue {
	struct ring *rings;
	unsigned slots;
	int fd;
	int wake_fd;
	size_t chunk_bytes; /* what one write may hold without blocking after POLLOUT */
	_Atomic uint64_t lost;
	_Atomic bool stop;
	pthread_t thread;
	int waited_ms; /* for the reader, since the stop */
	size_t batch_n;
	char batch[BATCH_BYTES];
};

static uint64_t record_size(size_t count)
{
	return (count + HEADER_BYTES + 7) & ~(uint64_t)7;
}

static char *ring_at(const struct ring *ring, uint64_t pos)
{
	return ring->buf + (pos & (LOGQ_RING_BYTES - 1));
}

static void put_length(const struct ring *ring, uint64_t pos, uint32_t count)
{
	memcpy(ring_at(ring, pos), &count, sizeof(count));
}

char *log_queue_reserve(struct log_queue *log_queue, unsigned slot, size_t max)
{
	assert(slot < log_queue->slots);
	struct ring *r = &log_queue->rings[slot];
	uint64_t start = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint64_t to_end = LOGQ_RING_BYTES - (start & (LOGQ_RING_BYTES - 1));
	bool wraps = to_end < record_size(max);
	uint64_t need = record_size(max) + (wraps ? to_end : 0);
	if (start + need - r->seen_tail > LOGQ_RING_BYTES)
		r->seen_tail = atomic_load_explicit(&r->tail, memory_order_acquire);
	if (max > LOGQ_LINE_MAX || start + need - r->seen_tail > LOGQ_RING_BYTES) {
		/* One writer: no locked instruction needed. */
		uint64_t dropped = atomic_load_explicit(&r->dropped, memory_order_relaxed);
		atomic_store_explicit(&r->dropped, dropped + 1, memory_order_relaxed);
		return NULL;
	}
	if (wraps) {
		put_length(r, start, SKIP);
		start += to_end;
	}
	r->reserved = start;
	return ring_at(r, start) + HEADER_BYTES;
}

void log_queue_commit(struct log_queue *log_queue, unsigned slot, size_t count)
{
	struct ring *r = &log_queue->rings[slot];
	if (count == 0)
		return;
	put_length(r, r->reserved, (uint32_t)count);
	atomic_store_explicit(&r->head, r->reserved + record_size(count), memory_order_release);
}

/* Copies whole lines from *pos on into the batch and moves *pos past them; how many. */
static unsigned fill_batch(struct log_queue *log_queue, const struct ring *ring, uint64_t *pos,
			   uint64_t head)
{
	unsigned lines = 0;
	while (*pos < head) {
		uint32_t n;
		memcpy(&n, ring_at(ring, *pos), sizeof(n));
		if (n == SKIP) {
			*pos += LOGQ_RING_BYTES - (*pos & (LOGQ_RING_BYTES - 1));
			continue;
		}
		if (log_queue->batch_n > 0 && log_queue->batch_n + n > log_queue->chunk_bytes)
			break;
		memcpy(log_queue->batch + log_queue->batch_n, ring_at(ring, *pos) + HEADER_BYTES,
		       n);
		log_queue->batch_n += n;
		*pos += record_size(n);
		lines++;
	}
	return lines;
}

/* Waits for room, in steps, so that freeing the queue cannot hang on a reader that stands still: it
 * is waited for once, not for each batch. */
static bool wait_writable(struct log_queue *log_queue)
{
	enum { STEP_MS = 100 };
	while (true) {
		bool patient = log_queue->waited_ms < STOP_PATIENCE_MS;
		struct pollfd p = { .fd = log_queue->fd, .events = POLLOUT };
		int r = poll(&p, 1, patient ? STEP_MS : 0);
		if (r > 0 || (r < 0 && errno != EINTR))
			return true;
		if (!patient)
			return false;
		if (atomic_load_explicit(&log_queue->stop, memory_order_relaxed))
			log_queue->waited_ms += STEP_MS;
	}
}

static bool write_batch(struct log_queue *log_queue)
{
	size_t done = 0;
	while (done < log_queue->batch_n) {
		if (!wait_writable(log_queue))
			return false;
		size_t n = MIN(log_queue->batch_n - done, log_queue->chunk_bytes);
		ssize_t w = write(log_queue->fd, log_queue->batch + done, n);
		if (w >= 0)
			done += (size_t)w;
		else if (errno != EINTR && errno != EAGAIN)
			return false;
	}
	return true;
}

/* False when there was nothing to do. */
static bool drain_ring(struct log_queue *log_queue, struct ring *ring)
{
	uint64_t pos = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
	if (pos == head)
		return false;
	while (pos < head) {
		log_queue->batch_n = 0;
		unsigned lines = fill_batch(log_queue, ring, &pos, head);
		if (!write_batch(log_queue))
			atomic_fetch_add_explicit(&log_queue->lost, lines, memory_order_relaxed);
		atomic_store_explicit(&ring->tail, pos, memory_order_release);
	}
	return true;
}

static bool drain_all(struct log_queue *log_queue)
{
	bool any = false;
	for (unsigned i = 0; i < log_queue->slots; i++)
		any = drain_ring(log_queue, &log_queue->rings[i]) || any;
	return any;
}

static void sleep_until_woken(struct log_queue *log_queue, long ns)
{
	struct pollfd p = { .fd = log_queue->wake_fd, .events = POLLIN };
	uint64_t count;
	if (ppoll(&p, 1, &(struct timespec){ .tv_nsec = ns }, NULL) > 0)
		IGNORE(read(log_queue->wake_fd, &count, sizeof(count))); /* only resets it */
}

static void *run_writer(void *arg)
{
	struct log_queue *q = arg;
	long nap_ns = FIRST_NAP_NS;
	while (true) {
		/* Read before draining, so that nothing committed before the stop is missed. */
		bool stop = atomic_load_explicit(&q->stop, memory_order_acquire);
		if (drain_all(q)) {
			nap_ns = FIRST_NAP_NS;
			continue;
		}
		if (stop)
			return NULL;
		sleep_until_woken(q, nap_ns);
		nap_ns = MIN(nap_ns * 2, (long)LONGEST_NAP_NS);
	}
}

static void wake_writer(struct log_queue *log_queue)
{
	static const uint64_t one = 1;
	IGNORE(write(log_queue->wake_fd, &one, sizeof(one))); /* full means it is awake */
}

struct log_queue *log_queue_new(unsigned slots, int fd)
{
	struct log_queue *q = xcalloc(1, sizeof(*q));
	struct stat st;
	bool is_pipe = fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
	q->slots = slots;
	q->fd = fd;
	/* A pipe that polls writable takes PIPE_BUF bytes for sure, and a longer line in two. */
	q->chunk_bytes = is_pipe ? PIPE_BUF : BATCH_BYTES;
	q->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	q->rings = aligned_alloc(64, slots * sizeof(struct ring));
	if (q->wake_fd < 0 || q->rings == NULL)
		abort();
	memset(q->rings, 0, slots * sizeof(struct ring));
	for (unsigned i = 0; i < slots; i++) {
		q->rings[i].buf = mmap(NULL, LOGQ_RING_BYTES, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (q->rings[i].buf == MAP_FAILED)
			abort();
	}
	if (pthread_create(&q->thread, NULL, run_writer, q) != 0)
		abort();
	return q;
}

void log_queue_free(struct log_queue *log_queue)
{
	if (log_queue == NULL)
		return;
	atomic_store_explicit(&log_queue->stop, true, memory_order_release);
	wake_writer(log_queue);
	pthread_join(log_queue->thread, NULL);
	for (unsigned i = 0; i < log_queue->slots; i++)
		munmap(log_queue->rings[i].buf, LOGQ_RING_BYTES);
	close(log_queue->wake_fd);
	free(log_queue->rings);
	free(log_queue);
}

uint64_t log_queue_dropped(const struct log_queue *log_queue)
{
	uint64_t n = atomic_load_explicit(&log_queue->lost, memory_order_relaxed);
	for (unsigned i = 0; i < log_queue->slots; i++)
		n += atomic_load_explicit(&log_queue->rings[i].dropped, memory_order_relaxed);
	return n;
}

void log_queue_flush(struct log_queue *log_queue)
{
	for (unsigned i = 0; i < log_queue->slots; i++) {
		uint64_t goal =
			atomic_load_explicit(&log_queue->rings[i].head, memory_order_acquire);
		while (atomic_load_explicit(&log_queue->rings[i].tail, memory_order_acquire) <
		       goal) {
			wake_writer(log_queue);
			nanosleep(&(struct timespec){ .tv_nsec = FIRST_NAP_NS }, NULL);
		}
	}
}
