/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hash of a configuration, and the one of what runs. */
#include "server/config/confhash.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "corefile/corefile.h"
#include "net/digest.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards running */
static struct confhash running;

struct confhash confhash_of(const struct corefile *cf)
{
	CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
	uint8_t digest[NET_SHA512_BYTES];
	struct confhash h;
	corefile_json(cf, &json);
	net_sha512(json.s, json.n, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(h.s + 2 * i, 3, "%02x", digest[i]);
	return h;
}

struct confhash confhash_running(void)
{
	pthread_mutex_lock(&lock);
	struct confhash h = running;
	pthread_mutex_unlock(&lock);
	return h;
}

void confhash_set_running(const struct confhash *confhash)
{
	pthread_mutex_lock(&lock);
	running = *confhash;
	pthread_mutex_unlock(&lock);
}
