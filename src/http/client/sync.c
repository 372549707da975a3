/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drives libcurl on the thread that waits for a call, so that another thread can end the wait. */
#include "http/client/sync.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "http/client/client.h"
#include "http/client/client_priv.h"

enum { POLL_MAX_MS = 60000 };

static bool is_stopped(const _Atomic bool *stop)
{
	return stop != NULL && atomic_load(stop);
}

/* Until something happens, somebody wakes us, or that time. */
static void wait_until(struct http_client *client, uint64_t due_ns)
{
	uint64_t now = clock_mono_ns();
	uint64_t ms = due_ns > now ? (due_ns - now) / NS_PER_MS + 1 : 0;
	IGNORE(client->lib->multi_poll(client->multi, NULL, 0, (int)MIN(ms, (uint64_t)POLL_MAX_MS),
				       NULL));
}

static void run_library(struct http_client *client)
{
	int running = 0;
	assert(!client->inside);
	client->inside = true;
	IGNORE(client->lib->multi_perform(client->multi, &running));
	client->inside = false;
	http_client_take_results(client);
}

int http_sync_call(struct http_client *client, struct http_call *call, const _Atomic bool *stop)
{
	assert(client->loop == NULL && client->transfers == NULL);
	http_client_start(client, call);
	while (call->transfer != NULL) {
		if (is_stopped(stop)) {
			http_client_cancel(client, call);
			break;
		}
		run_library(client);
		uint64_t now = clock_mono_ns();
		if (call->transfer != NULL && !http_client_end_late(call->transfer, now))
			wait_until(client, http_client_deadline(call->transfer, now));
	}
	return call->result;
}

int http_sync_sleep(struct http_client *client, uint64_t ns, const _Atomic bool *stop)
{
	uint64_t end = clock_mono_ns() + ns;
	while (!is_stopped(stop)) {
		if (clock_mono_ns() >= end)
			return 0;
		wait_until(client, end);
	}
	return -ECANCELED;
}

void http_sync_wake(struct http_client *client)
{
	IGNORE(client->lib->multi_wakeup(client->multi));
}
