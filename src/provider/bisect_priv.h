/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for bad changes in a batch that failed without naming them. The changes stand in a row;
 * each call tries some from its beginning. Those that succeed leave the row; a failure makes them
 * suspects. One suspect left is bad and leaves, too. Only numbers: the caller keeps the row.
 *
 * Each bad one costs a binary search. After the first, all that follow are tried at once: mostly there
 * is only one, and this makes 2 + ceil(log2 n) calls in all, the failed batch included. After the
 * second, at most half of a batch is tried at once: its failure and the search in it are ceil(log2 n)
 * calls, so that k bad ones make at most 4 + k * ceil(log2 n). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct provider_bisect {
	size_t left;	 /* length of the row */
	size_t suspects; /* so many at its beginning have a bad one among them; 0: nobody knows */
	size_t group;	 /* largest number to try when there are no suspects */
	size_t half;	 /* the same after the second bad one: a power of two */
	size_t n_bad;
	unsigned firsts; /* bad ones in a row that were the first of their group */
	bool went_right; /* this search has seen a success */
};

/* A batch of `count` has failed. */
void provider_bisect_init(struct provider_bisect *bisect, size_t count);
/* How many to try next, from the beginning; 0: the row is empty. */
size_t provider_bisect_next(const struct provider_bisect *bisect);
void provider_bisect_succeeded(struct provider_bisect *bisect, size_t tried);
void provider_bisect_failed(struct provider_bisect *bisect, size_t tried);
/* To be asked after each call. True: the first of the row is bad, and has left it. */
bool provider_bisect_found(struct provider_bisect *bisect);
