/* The API as a whole: its parts made and taken down, and the few things all verbs need. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apiserver/access/auth.h"
#include "apiserver/controllers/bootstrap.h"
#include "apiserver/controllers/collector.h"
#include "apiserver/controllers/endpoints.h"
#include "apiserver/store/store.h"
#include "apiserver/verb/request.h"
#include "apiserver/verb/stream.h"
#include "base/clock.h"
#include "base/mem.h"

enum { POLL_NS = 10 * 1000 * 1000 };

static const char *const default_cidrs[] = { "10.96.0.0/16", NULL };

struct apiserver_env apiserver_env_of(struct apiserver_api *api, bool dry_run)
{
	return (struct apiserver_env){
		.ctx = api->addresses,
		.allocate = apiserver_addresses_allocate,
		.release = apiserver_addresses_release,
		.allocate_port = apiserver_addresses_allocate_port,
		.release_port = apiserver_addresses_release_port,
		.may = apiserver_may_user,
		.service_cidrs = api->conf.service_cidrs,
		.dry_run = dry_run,
	};
}

/* Nobody asks for the future but by mistake or after a restore; so looking again is good enough. */
int apiserver_wait_revision(struct apiserver_api *api, uint64_t revision,
			    struct apiserver_status *st)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t now = clock_mono_ns(), end = now + api->conf.wait_ns;
	if (apiserver_store_revision(api->store) >= revision)
		return 0;
	if (atomic_fetch_add(&api->waiting, 1) >= APISERVER_WAITING_MAX)
		end = now;
	while (apiserver_store_revision(api->store) < revision && clock_mono_ns() < end)
		nanosleep(&pause, NULL);
	atomic_fetch_sub(&api->waiting, 1);
	uint64_t newest = apiserver_store_revision(api->store);
	return newest >= revision ? 0 : apiserver_too_large_version(st, revision, newest);
}

static void copy_conf(struct apiserver_api *api, const struct apiserver_api_conf *conf)
{
	api->conf = *conf;
	api->store = conf->store;
	api->conf.address = conf->address != NULL ? xstrdup(conf->address) : NULL;
	if (conf->service_cidrs == NULL)
		api->conf.service_cidrs = default_cidrs;
	if (conf->wait_ns == 0)
		api->conf.wait_ns = 3 * NS_PER_S;
	if (conf->event_ttl_ns == 0)
		api->conf.event_ttl_ns = 3600 * NS_PER_S;
}

int apiserver_api_new(const struct apiserver_api_conf *conf, struct apiserver_api **ret, char *err,
		      size_t err_n)
{
	struct apiserver_api *a = xcalloc(1, sizeof(*a));
	copy_conf(a, conf);
	a->ticker = apiserver_ticker_new();
	a->filler = apiserver_filler_new();
	int e = apiserver_addresses_new(a->conf.service_cidrs, &a->addresses, err, err_n);
	if (e == 0)
		e = apiserver_bootstrap(a, err, err_n);
	if (e < 0) {
		apiserver_api_free(a);
		return e;
	}
	a->collector = apiserver_collector_new(a);
	a->endpoints = apiserver_endpoints_new(a);
	*ret = a;
	return 0;
}

void apiserver_api_free(struct apiserver_api *api)
{
	if (api == NULL)
		return;
	apiserver_endpoints_free(api->endpoints);
	apiserver_collector_free(api->collector);
	apiserver_ticker_free(api->ticker);
	apiserver_filler_free(api->filler);
	apiserver_addresses_free(api->addresses);
	free((char *)(uintptr_t)api->conf.address);
	free(api);
}
