/* SPDX-License-Identifier: GPL-3.0-or-later */
/* resourceVersion texts: parsing them, refusing malformed ones with the server's message, and
 * waiting for a revision that the store has not reached yet. */
#include "apiserver/request/resource_version.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "apiserver/store/store.h"
#include "base/clock.h"
#include "base/slice.h"

enum { POLL_NS = 10 * 1000 * 1000 };

bool apiserver_resource_version_parse(const char *text, uint64_t *ret)
{
	*ret = 0;
	return text[0] == '\0' || slice_u64(slice_of(text), ret) == 0;
}

const char *apiserver_resource_version_error(const char *text)
{
	return text[strspn(text, "0123456789")] == '\0' ? "value out of range" : "invalid syntax";
}

int apiserver_resource_version_refuse(struct apiserver_status *status, const char *text)
{
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
	strbuf_add_quoted(&quoted, slice_of(text));
	return apiserver_status_bad_request(
		status,
		"invalid resource version: resourceVersion: Invalid value: %s: "
		"strconv.ParseUint: parsing %s: %s",
		quoted.s, quoted.s, apiserver_resource_version_error(text));
}

/* Clients name a future revision only by mistake or after a restore, so polling is enough. */
int apiserver_resource_version_wait(struct apiserver_api *api, uint64_t revision,
				    struct apiserver_status *status)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t now = clock_mono_ns(), end = now + api->conf.wait_ns;
	if (apiserver_store_revision(api->store) >= revision)
		return 0;
	if (atomic_fetch_add(&api->waiting, 1) >= APISERVER_WAITING_MAX)
		end = now;
	while (apiserver_store_revision(api->store) < revision && clock_mono_ns() < end)
		nanosleep(&pause, NULL);
	unsigned before = atomic_fetch_sub(&api->waiting, 1);
	assert(before > 0);
	uint64_t newest = apiserver_store_revision(api->store);
	return newest >= revision ? 0
				  : apiserver_status_too_large_version(status, revision, newest);
}
