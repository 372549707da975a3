/* Service addresses and node ports: which of the ranges are taken. Kept in memory only and read
 * from the store's Services at start, so that there is nothing to disagree with. Any thread. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

struct apiserver_addresses;

enum {
	APISERVER_CIDRS_MAX = 2,
	/* Addresses of a range beyond that many are not given out (as the server limits IPv6). */
	APISERVER_ADDRESSES_MAX = 1 << 20,
	/* The range of node ports, kube-apiserver's default. */
	APISERVER_NODE_PORT_MIN = 30000,
	APISERVER_NODE_PORT_MAX = 32767,
};

/* `cidrs`: NULL-terminated. ERR_PARSE, ERR_LIMIT with a sentence. */
MUST_CHECK int apiserver_addresses_new(const char *const *cidrs, struct apiserver_addresses **ret,
				       char *err, size_t err_n);
void apiserver_addresses_free(struct apiserver_addresses *addresses);

/* As of struct apiserver_env; `ctx` is the struct. */
int apiserver_addresses_allocate(void *ctx, int family, const char *want, char *ret, size_t ret_n);
void apiserver_addresses_release(void *ctx, const char *address);
int apiserver_addresses_allocate_port(void *ctx, unsigned want, unsigned *ret);
void apiserver_addresses_release_port(void *ctx, unsigned port);
/* The first address of the first range: the API's own. */
const char *apiserver_addresses_first(const struct apiserver_addresses *addresses);
