/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hash of a configuration, and the one of what runs. */
#include "server/config/hash.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "corefile/corefile.h"
#include "base/crypto/digest.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards running */
static struct config_hash running;

struct config_hash config_hash_of(const struct corefile *cf)
{
	CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
	uint8_t digest[DIGEST_SHA512_BYTES];
	struct config_hash h;
	corefile_json(cf, &json);
	digest_sha512(json.s, json.n, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(h.s + 2 * i, 3, "%02x", digest[i]);
	return h;
}

struct config_hash config_hash_running(void)
{
	pthread_mutex_lock(&lock);
	struct config_hash h = running;
	pthread_mutex_unlock(&lock);
	return h;
}

void config_hash_set_running(const struct config_hash *hash)
{
	pthread_mutex_lock(&lock);
	running = *hash;
	pthread_mutex_unlock(&lock);
}
