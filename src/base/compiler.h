/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The few compiler extensions the code base allows itself, behind readable names. */
#pragma once

#include <stddef.h>

#define MUST_CHECK		__attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define NORETURN		__attribute__((noreturn))
#define UNUSED			__attribute__((unused))
#define ALWAYS_INLINE		inline __attribute__((always_inline))
#define NOINLINE		__attribute__((noinline))
#define CACHE_ALIGNED		__attribute__((aligned(64)))

/* Does a sanitizer replace malloc, and glibc's own functions for its memory must not be called? */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Runs `fn(&var)` when the variable goes out of scope. */
#define CLEANUP(fn)			__attribute__((cleanup(fn)))

#define LIKELY(x)			__builtin_expect(!!(x), 1)
#define UNLIKELY(x)			__builtin_expect(!!(x), 0)

#define ARRAY_LEN(a)			(sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)			((a) < (b) ? (a) : (b))
#define MAX(a, b)			((a) > (b) ? (a) : (b))

#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Hands a pointer over to a new owner and forgets it here. */
#define TAKE_PTR(p)                            \
	__extension__({                        \
		__typeof__(p) take_tmp_ = (p); \
		(p) = NULL;                    \
		take_tmp_;                     \
	})

/* Ignores the result of a MUST_CHECK function on purpose; say why beside it. */
#define IGNORE(expr)        \
	do {                \
		if (expr) { \
		}           \
	} while (0)
