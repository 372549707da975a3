/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The external names and addresses of a cluster's Services: what `kubernetes` offers to
 * `k8s_external`, through the operation `offer` of its plugin table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

struct plugin_inst;
struct query;

/* One address or host name, with a port, under which a Service is reached from outside. */
struct external_hit {
	const uint8_t *ip;     /* 16 bytes, IPv4 as ::ffff:a.b.c.d; NULL: a host name instead */
	const char *host;      /* or NULL */
	int32_t port;	       /* -1: none */
	struct slice label[3]; /* of its own name below the zone: [endpoint,] service, namespace */
	unsigned n_labels;
};

/* The question, and how the answer is passed back: `each` is called for one hit after the other,
 * whose pointers are valid for that call only; it returns false to stop. */
struct external_ask {
	size_t zone_labels; /* the question without these is what is looked for */
	bool headless;	    /* endpoints of headless services as well */
	bool servers;	    /* instead: the addresses of this name server */
	bool (*each)(void *ctx, const struct external_hit *hit);
	void *ctx;
	/* the answer: */
	uint16_t rcode;
	uint32_t serial, ttl_s;
};

#define EXTERNAL_OFFER "external"

struct external_ops {
	/* Services by their external name or, for PTR, address. */
	void (*find)(struct plugin_inst *self, struct query *q, struct external_ask *ask);
};
