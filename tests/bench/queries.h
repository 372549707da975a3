/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	QUERIES_WIRE_MAX = 512, /* of one query */
	QUERIES_PATTERNS_MAX = 64,
};

struct queries_opts {
	const char *pattern[QUERIES_PATTERNS_MAX]; /* "NAME TYPE", {n} in NAME is numbered */
	unsigned n_patterns;
	const char *range; /* "FROM:TO" of {n}, or NULL */
	const char *file;  /* of "NAME TYPE" lines, or NULL */
	uint64_t edns;	   /* size to put into an OPT record; 0: no OPT record */
	bool rd;
	uint64_t shuffle; /* seed of the order; 0: as they stand */
};

/* A list of ready-made queries, gone through again and again. */
struct queries {
	unsigned char *wire;
	size_t wire_len, wire_size;
	uint32_t *start; /* n + 1 offsets into wire */
	uint32_t *order; /* n numbers of queries, or NULL */
	size_t n, size, next;
};

/* Ends the program with exit status 2. */
__attribute__((format(printf, 1, 2))) _Noreturn void fail(const char *fmt, ...);

/* Ends the program when the options name no queries or one that cannot be encoded. */
void queries_init(struct queries *q, const struct queries_opts *o);
void queries_done(struct queries *q);

/* Copies the next query, with this id, to p (QUERIES_WIRE_MAX bytes); returns its length. */
size_t queries_next(struct queries *q, unsigned char *p, unsigned id);
