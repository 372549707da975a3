/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A heartbeat: a Lease that is renewed as long as a program works, for others to see that it does.
 * Nobody competes for it. Gardener watches `gardener-extension-heartbeat` of each extension so. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"

struct heartbeat;
struct kube_client;

enum { HEARTBEAT_INTERVAL_S = 30 }; /* the usual one */

struct heartbeat_conf {
	struct kube_client *client; /* borrowed */
	const char *ns, *name;	    /* of the Lease; copied, as the holder */
	const char *holder;	    /* holderIdentity: who lives, the same in each process */
	uint64_t interval_ns;	    /* whole seconds */
	/* Before each beat, on the heartbeat's thread: false when the program does not work. Then there
	 * is none. */
	bool (*is_working)(void *ctx);
	/* On that thread: a beat failed; there is another one after the interval. */
	void (*on_error)(void *ctx, const char *text);
	void *ctx;
};

/* The first beat comes at once. ERR_CONFIG without libcurl; `err` gets a sentence. */
MUST_CHECK int heartbeat_start(const struct heartbeat_conf *conf, struct heartbeat **ret,
			       struct err_text err);
/* Ends it; the Lease stays and is not renewed any more. NULL is fine. */
void heartbeat_stop(struct heartbeat *heartbeat);
