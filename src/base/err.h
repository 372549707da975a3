/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Error codes. Functions that can fail return 0 or a positive value on success and a negative code
 * on failure: -errno for system errors, or one of ours, which lie below -1000. */
#pragma once

#define ERR_MAP(X)                                 \
	X(PARSE, 1001, "malformed input")          \
	X(LIMIT, 1002, "limit exceeded")           \
	X(SPACE, 1003, "not enough space")         \
	X(NOTFOUND, 1004, "not found")             \
	X(DUPLICATE, 1005, "already defined")      \
	X(UNSUPPORTED, 1006, "not supported")      \
	X(CONFIG, 1007, "invalid configuration")   \
	X(TYPE, 1008, "type mismatch")             \
	X(RANGE, 1009, "value out of range")       \
	X(CLOSED, 1010, "closed by peer")          \
	X(TIMEOUT, 1011, "timed out")              \
	X(BUSY, 1012, "busy")                      \
	X(INTERNAL, 1013, "internal error")        \
	X(TLS, 1014, "TLS failure")                \
	X(CONFLICT, 1015, "changed meanwhile")     \
	X(GONE, 1016, "too old, read it again")    \
	X(DENIED, 1017, "permission denied")       \
	X(DAMAGED, 1018, "stored data is damaged") \
	X(QUOTA, 1019, "quota used up")

enum err_code {
#define X(name, number, text) ERR_##name = -(number),
	ERR_MAP(X)
#undef X
};

/* A text for any code, system or ours; never NULL, valid for ever. Thread-safe. */
const char *err_str(int code);
