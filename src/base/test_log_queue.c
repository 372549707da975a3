/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log_queue: lines arrive whole and in order; a reader that stands still costs lines, never time. */
#include "base/log_queue.h"
#include "base/log_queue_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SLOTS = 2, LINES = 20000 };

static int pipe_fd[2];

static int setup(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	return pipe(pipe_fd);
}

static int teardown(void **state)
{
	(void)state;
	close(pipe_fd[0]);
	return 0;
}

/* "slot number xxx...": of varying length, so that records meet the ring's end everywhere. */
static bool put_line(struct log_queue *q, unsigned slot, unsigned number)
{
	char *p = log_queue_reserve(q, slot, 200);
	if (p == NULL)
		return false;
	int n = snprintf(p, 200, "%u %u %.*s\n", slot, number, (int)(number % 97),
			 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	log_queue_commit(q, slot, (size_t)n);
	return true;
}

struct producer {
	struct log_queue *q;
	unsigned slot;
};

static void *produce(void *arg)
{
	const struct producer *p = arg;
	for (unsigned i = 0; i < LINES; i++)
		put_line(p->q, p->slot, i);
	return NULL;
}

/* Reads until the pipe is closed; counts lines and fails on a torn or misplaced one. */
static void *consume(void *arg)
{
	uint64_t *count = arg;
	long last[SLOTS] = { -1, -1 };
	FILE *f = fdopen(dup(pipe_fd[0]), "r");
	char *line = NULL;
	size_t cap = 0;
	while (f != NULL && getline(&line, &cap, f) > 0) {
		char *end;
		unsigned long slot = strtoul(line, &end, 10);
		long number = strtol(end, &end, 10);
		bool whole = slot < SLOTS && number > last[slot < SLOTS ? slot : 0] &&
			     strspn(end + 1, "x") == (size_t)number % 97 &&
			     strlen(end) == (size_t)number % 97 + 2;
		if (!whole) {
			*count = UINT64_MAX / 2;
			break;
		}
		last[slot] = number;
		(*count)++;
	}
	free(line);
	if (f != NULL)
		fclose(f);
	return NULL;
}

static void stress(void **state)
{
	(void)state;
	struct log_queue *q = log_queue_new(SLOTS, pipe_fd[1]);
	struct producer p[SLOTS];
	pthread_t t[SLOTS], reader;
	uint64_t got = 0;
	assert_int_equal(pthread_create(&reader, NULL, consume, &got), 0);
	for (unsigned i = 0; i < SLOTS; i++) {
		p[i] = (struct producer){ q, i };
		assert_int_equal(pthread_create(&t[i], NULL, produce, &p[i]), 0);
	}
	for (unsigned i = 0; i < SLOTS; i++)
		pthread_join(t[i], NULL);
	log_queue_flush(q);
	uint64_t dropped = log_queue_dropped(q);
	log_queue_free(q);
	close(pipe_fd[1]);
	pthread_join(reader, NULL);
	assert_int_equal(got + dropped, SLOTS * LINES);
	assert_true(got > 0);
}

static void blocked_reader_costs_lines(void **state)
{
	(void)state;
	struct log_queue *q = log_queue_new(1, pipe_fd[1]);
	struct producer p = { q, 0 };
	pthread_t reader;
	uint64_t got = 0;
	produce(&p); /* returns although nobody reads */
	uint64_t dropped = log_queue_dropped(q);
	assert_true(dropped > LINES / 2);
	assert_int_equal(pthread_create(&reader, NULL, consume, &got), 0);
	log_queue_flush(q);
	/* Once there is room again, lines go through again. */
	assert_true(put_line(q, 0, LINES));
	log_queue_free(q);
	close(pipe_fd[1]);
	pthread_join(reader, NULL);
	assert_int_equal(got + dropped, LINES + 1);
}

static void flush_and_limits(void **state)
{
	(void)state;
	static char buf[LOGQ_LINE_MAX + 1];
	struct log_queue *q = log_queue_new(1, pipe_fd[1]);
	assert_null(log_queue_reserve(q, 0, LOGQ_LINE_MAX + 1));
	assert_int_equal(log_queue_dropped(q), 1);
	char *p = log_queue_reserve(q, 0, LOGQ_LINE_MAX);
	assert_non_null(p);
	log_queue_commit(q, 0, 0);
	p = log_queue_reserve(q, 0, LOGQ_LINE_MAX);
	memset(p, 'l', LOGQ_LINE_MAX);
	log_queue_commit(q, 0, LOGQ_LINE_MAX);
	log_queue_flush(q);
	/* All of it is in the pipe already. */
	size_t n = 0;
	fcntl(pipe_fd[0], F_SETFL, O_NONBLOCK);
	while (n < sizeof(buf)) {
		ssize_t r = read(pipe_fd[0], buf + n, sizeof(buf) - n);
		if (r <= 0)
			break;
		n += (size_t)r;
	}
	assert_int_equal(n, LOGQ_LINE_MAX);
	assert_int_equal(buf[LOGQ_LINE_MAX - 1], 'l');
	log_queue_free(q);
	log_queue_free(NULL);
	close(pipe_fd[1]);
}

static void closed_reader_loses_lines(void **state)
{
	(void)state;
	int fd[2];
	assert_int_equal(pipe(fd), 0);
	close(fd[0]);
	struct log_queue *q = log_queue_new(1, fd[1]);
	put_line(q, 0, 1);
	put_line(q, 0, 2);
	log_queue_flush(q);
	assert_int_equal(log_queue_dropped(q), 2);
	log_queue_free(q);
	close(fd[1]);
	close(pipe_fd[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stress, setup, teardown),
		cmocka_unit_test_setup_teardown(blocked_reader_costs_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(flush_and_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(closed_reader_loses_lines, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
