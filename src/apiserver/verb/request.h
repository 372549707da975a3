/* Inside of the API: what its files share. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "apiserver/codec/accept.h"
#include "apiserver/verb/allocator.h"
#include "apiserver/verb/object.h"
#include "apiserver/verb/options.h"
#include "apiserver/kind/resource.h"
#include "apiserver/verb/rest.h"
#include "apiserver/verb/route.h"
#include "apiserver/codec/status_error.h"
#include "apiserver/store/store.h"
#include "apiserver/codec/table.h"
#include "apiserver/verb/ticker.h"

struct apiserver_collector;
struct apiserver_endpoints;
struct apiserver_filler;

struct apiserver_api {
	struct apiserver_store *store;
	struct apiserver_api_conf conf;
	struct apiserver_addresses *addresses;
	struct apiserver_collector *collector;
	struct apiserver_endpoints *endpoints;
	struct apiserver_ticker *ticker;
	struct apiserver_filler *filler;
	_Atomic unsigned waiting; /* requests for a revision of the future */
};

/* One request on its way. */
struct apiserver_request {
	struct apiserver_api *a;
	const struct apiserver_call *c;
	struct apiserver_answer *answer;
	struct apiserver_status *st;
	struct apiserver_route route;
	const struct apiserver_resource *r; /* route.r, which is served */
	struct apiserver_accept accept;
	enum apiserver_include include;
};

/* What strategies may ask for. */
struct apiserver_env apiserver_env_of(struct apiserver_api *api, bool dry_run);

/* Requests that may wait at a time: each has a thread, which others need. */
enum { APISERVER_WAITING_MAX = 4 };

/* Waits until the store has reached the revision. Refused: 504, it did not in time, or too many
 * wait already. */
MUST_CHECK int apiserver_wait_revision(struct apiserver_api *api, uint64_t revision,
				       struct apiserver_status *st);

/* The verbs. 0, or ERR_DENIED with the request's status; the answer is filled in by them. */
int apiserver_do_get(struct apiserver_request *req);
int apiserver_do_list(struct apiserver_request *req, const struct apiserver_list_options *options);
int apiserver_do_watch(struct apiserver_request *req, const struct apiserver_list_options *options);
int apiserver_do_create(struct apiserver_request *req);
int apiserver_do_update(struct apiserver_request *req);
int apiserver_do_patch(struct apiserver_request *req);
int apiserver_do_delete(struct apiserver_request *req);
int apiserver_do_delete_all(struct apiserver_request *req);
