/* Single-producer rings of whole lines and the thread that empties them. Positions only grow; a
 * record is its length (4 bytes) and its bytes, padded to 8, and never wraps: where it would, a
 * skip mark sends the reader to the ring's start. */
#include "base/logq.h"

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
#include "base/logq_test.h"
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

struct logq {
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

char *logq_reserve(struct logq *logq, unsigned slot, size_t max)
{
	assert(slot < logq->slots);
	struct ring *r = &logq->rings[slot];
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

void logq_commit(struct logq *logq, unsigned slot, size_t count)
{
	struct ring *r = &logq->rings[slot];
	if (count == 0)
		return;
	put_length(r, r->reserved, (uint32_t)count);
	atomic_store_explicit(&r->head, r->reserved + record_size(count), memory_order_release);
}

/* Copies whole lines from *pos on into the batch and moves *pos past them; how many. */
static unsigned fill_batch(struct logq *logq, const struct ring *ring, uint64_t *pos, uint64_t head)
{
	unsigned lines = 0;
	while (*pos < head) {
		uint32_t n;
		memcpy(&n, ring_at(ring, *pos), sizeof(n));
		if (n == SKIP) {
			*pos += LOGQ_RING_BYTES - (*pos & (LOGQ_RING_BYTES - 1));
			continue;
		}
		if (logq->batch_n > 0 && logq->batch_n + n > logq->chunk_bytes)
			break;
		memcpy(logq->batch + logq->batch_n, ring_at(ring, *pos) + HEADER_BYTES, n);
		logq->batch_n += n;
		*pos += record_size(n);
		lines++;
	}
	return lines;
}

/* Waits for room, in steps, so that freeing the queue cannot hang on a reader that stands still: it
 * is waited for once, not for each batch. */
static bool wait_writable(struct logq *logq)
{
	enum { STEP_MS = 100 };
	while (true) {
		bool patient = logq->waited_ms < STOP_PATIENCE_MS;
		struct pollfd p = { .fd = logq->fd, .events = POLLOUT };
		int r = poll(&p, 1, patient ? STEP_MS : 0);
		if (r > 0 || (r < 0 && errno != EINTR))
			return true;
		if (!patient)
			return false;
		if (atomic_load_explicit(&logq->stop, memory_order_relaxed))
			logq->waited_ms += STEP_MS;
	}
}

static bool write_batch(struct logq *logq)
{
	size_t done = 0;
	while (done < logq->batch_n) {
		if (!wait_writable(logq))
			return false;
		size_t n = MIN(logq->batch_n - done, logq->chunk_bytes);
		ssize_t w = write(logq->fd, logq->batch + done, n);
		if (w >= 0)
			done += (size_t)w;
		else if (errno != EINTR && errno != EAGAIN)
			return false;
	}
	return true;
}

/* False when there was nothing to do. */
static bool drain_ring(struct logq *logq, struct ring *ring)
{
	uint64_t pos = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
	if (pos == head)
		return false;
	while (pos < head) {
		logq->batch_n = 0;
		unsigned lines = fill_batch(logq, ring, &pos, head);
		if (!write_batch(logq))
			atomic_fetch_add_explicit(&logq->lost, lines, memory_order_relaxed);
		atomic_store_explicit(&ring->tail, pos, memory_order_release);
	}
	return true;
}

static bool drain_all(struct logq *logq)
{
	bool any = false;
	for (unsigned i = 0; i < logq->slots; i++)
		any = drain_ring(logq, &logq->rings[i]) || any;
	return any;
}

static void sleep_until_woken(struct logq *logq, long ns)
{
	struct pollfd p = { .fd = logq->wake_fd, .events = POLLIN };
	uint64_t count;
	if (ppoll(&p, 1, &(struct timespec){ .tv_nsec = ns }, NULL) > 0)
		IGNORE(read(logq->wake_fd, &count, sizeof(count))); /* only resets it */
}

static void *run_writer(void *arg)
{
	struct logq *q = arg;
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

static void wake_writer(struct logq *logq)
{
	static const uint64_t one = 1;
	IGNORE(write(logq->wake_fd, &one, sizeof(one))); /* full means it is awake */
}

struct logq *logq_new(unsigned slots, int fd)
{
	struct logq *q = xcalloc(1, sizeof(*q));
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

void logq_free(struct logq *logq)
{
	if (logq == NULL)
		return;
	atomic_store_explicit(&logq->stop, true, memory_order_release);
	wake_writer(logq);
	pthread_join(logq->thread, NULL);
	for (unsigned i = 0; i < logq->slots; i++)
		munmap(logq->rings[i].buf, LOGQ_RING_BYTES);
	close(logq->wake_fd);
	free(logq->rings);
	free(logq);
}

uint64_t logq_dropped(const struct logq *logq)
{
	uint64_t n = atomic_load_explicit(&logq->lost, memory_order_relaxed);
	for (unsigned i = 0; i < logq->slots; i++)
		n += atomic_load_explicit(&logq->rings[i].dropped, memory_order_relaxed);
	return n;
}

void logq_flush(struct logq *logq)
{
	for (unsigned i = 0; i < logq->slots; i++) {
		uint64_t goal = atomic_load_explicit(&logq->rings[i].head, memory_order_acquire);
		while (atomic_load_explicit(&logq->rings[i].tail, memory_order_acquire) < goal) {
			wake_writer(logq);
			nanosleep(&(struct timespec){ .tv_nsec = FIRST_NAP_NS }, NULL);
		}
	}
}
