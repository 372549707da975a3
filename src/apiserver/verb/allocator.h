/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Allocator of Service addresses and node ports. It is kept in memory only and filled from the
 * store's Services at start, so that it cannot disagree with them. Any thread. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/err_text.h"

struct apiserver_allocator;

enum {
	APISERVER_CIDRS_MAX = 2,
	/* Addresses of a range beyond that many are not allocated (as the server limits IPv6). */
	APISERVER_ADDRESSES_MAX = 1 << 20,
	/* The range of node ports, kube-apiserver's default. */
	APISERVER_NODE_PORT_MIN = 30000,
	APISERVER_NODE_PORT_MAX = 32767,
};

/* `cidrs`: NULL-terminated. ERR_PARSE, ERR_LIMIT with a message in `err`. */
MUST_CHECK int apiserver_allocator_new(const char *const *cidrs, struct apiserver_allocator **ret,
				       struct err_text err);
void apiserver_allocator_free(struct apiserver_allocator *allocator);

/* Callbacks of struct apiserver_env, which has their contracts; `ctx` is the allocator. */
int apiserver_allocator_take_address(void *ctx, int family, const char *want, char *ret,
				     size_t ret_n);
void apiserver_allocator_release_address(void *ctx, const char *address);
int apiserver_allocator_take_port(void *ctx, unsigned want, unsigned *ret);
void apiserver_allocator_release_port(void *ctx, unsigned port);
/* The first address of the first range: that of Service default/kubernetes. */
const char *apiserver_allocator_first_address(const struct apiserver_allocator *allocator);
