/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growing arrays of any type, by macro:
 *	VEC(struct token) toks = { 0 };
 *	vec_push(&toks, t);
 *	for (size_t i = 0; i < toks.n; i++) use(&toks.v[i]);
 *	vec_done(&toks);
 * Memory comes from the heap; control code only. */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define VEC(type)           \
	struct {            \
		type *v;    \
		size_t n;   \
		size_t cap; \
	}

void *vec_grow(void *value, size_t len, size_t *cap, size_t elem_bytes) MUST_CHECK;

#define vec_reserve_one(vec) \
	((vec)->v = vec_grow((vec)->v, (vec)->n, &(vec)->cap, sizeof(*(vec)->v)))

#define vec_push(vec, ...)                            \
	do {                                          \
		vec_reserve_one(vec);                 \
		(vec)->v[(vec)->n++] = (__VA_ARGS__); \
	} while (0)

/* Pointer to a new, zeroed last element. */
#define vec_add(vec)                                               \
	__extension__({                                            \
		vec_reserve_one(vec);                              \
		memset(&(vec)->v[(vec)->n], 0, sizeof(*(vec)->v)); \
		&(vec)->v[(vec)->n++];                             \
	})

#define vec_done(vec)                      \
	do {                               \
		free((vec)->v);            \
		(vec)->v = NULL;           \
		(vec)->n = (vec)->cap = 0; \
	} while (0)
