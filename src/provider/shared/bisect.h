/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for bad changes in a batch that failed without naming them. The changes stand in a row;
 * each call tries some from its beginning. Those that succeed leave the row; a failure makes them
 * suspects. One suspect left is bad and leaves, too. Only numbers: the caller keeps the row.
 *
 * With n changes, L = ceil(log2 n) and k bad ones, the calls are, the failed batch included:
 *
 *	at most 2 + k L		if k = 1, or n <= 3/4 of 2^L (of 500: no; of 384: yes)
 *	at most 3 + k L		if n <= 7/8 of 2^L
 *	at most 4 + k L		else
 *
 * and one more if more than BISECT_RUN of them stand side by side: then single ones are tried soon, so
 * that a row of bad ones costs less than two calls each. No strategy holds 2 + k L for all n:
 * with four changes each exceeds it for some bad ones, and of more than four none that tries the
 * beginnings of a row and needs 2 + L for one bad change does better than this table (test_bisect.c
 * tries all of both kinds, the latter for rows of up to 16).
 *
 * How: after a bad one, at most 2^(L-1) are tried at once, so that a failure and the search in it are L
 * calls. That leaves one call for the first bad one's search and two for the successes. Those at the
 * beginning of the row, behind which more than 2^(L-1) are left, need both of the latter: the first
 * search is lopsided, and finds them with one call less. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { BISECT_RUN = 8 };

struct provider_bisect {
	size_t left;	 /* length of the row */
	size_t suspects; /* so many at its beginning have a bad one among them; 0: nobody knows */
	size_t hurried; /* so many of the suspects, from the beginning, are to be found with a call less */
	size_t half;	/* 2^(L-1) */
	size_t group;	/* to try without suspects, where calls are left over; at most `half` */
	unsigned log;	/* L */
	unsigned base;	/* 2, 3 or 4: see above */
	unsigned calls; /* so far, the failed batch included */
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
