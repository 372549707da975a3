/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Creates and frees the API: configuration, allocator, timers, streams and controllers. */
#include "apiserver/api.h"

#include <stdlib.h>

#include "apiserver/access/authorize.h"
#include "apiserver/controllers/bootstrap.h"
#include "apiserver/controllers/collector.h"
#include "apiserver/controllers/endpoints.h"
#include "apiserver/request/request.h"
#include "apiserver/request/stream.h"
#include "apiserver/request/ticker.h"
#include "apiserver/store/store.h"
#include "apiserver/verb/allocator.h"
#include "base/clock.h"
#include "base/err_text.h"
#include "base/mem.h"

static const char *const default_cidrs[] = { "10.96.0.0/16", NULL };

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

int apiserver_api_new(const struct apiserver_api_conf *conf, struct apiserver_api **ret,
		      struct err_text err)
{
	struct apiserver_api *api = xcalloc(1, sizeof(*api));
	copy_conf(api, conf);
	api->may = apiserver_authorize_user;
	api->ticker = apiserver_ticker_new();
	api->filler = apiserver_filler_new();
	int e = apiserver_allocator_new(api->conf.service_cidrs, &api->allocator, err);
	if (e == 0)
		e = apiserver_bootstrap(api, err);
	if (e < 0) {
		apiserver_api_free(api);
		return e;
	}
	api->collector = apiserver_collector_new(api);
	api->endpoints = apiserver_endpoints_new(api);
	*ret = api;
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
	apiserver_allocator_free(api->allocator);
	free((char *)(uintptr_t)api->conf.address);
	free(api);
}
