/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GET of one object, at the newest revision or a later one that the client names. */
#include "apiserver/verb/get.h"

#include "apiserver/request/object.h"
#include "apiserver/request/options.h"
#include "apiserver/request/resource_version.h"
#include "apiserver/request/respond.h"

int apiserver_verb_get(struct apiserver_request *req)
{
	const char *rv = apiserver_options_arg(req->call, "resourceVersion");
	uint64_t at, revision;
	json_t *o;
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
	int e = apiserver_respond_begin(req, APISERVER_ACCEPT_REPLY);
	if (e < 0)
		return e;
	if (!apiserver_resource_version_parse(rv != NULL ? rv : "", &at)) {
		strbuf_add_quoted(&quoted, slice_of(rv));
		return apiserver_status_refuse(
			req->status, 500, "",
			"resourceVersion: Invalid value: %s: strconv.ParseUint: "
			"parsing %s: %s",
			quoted.s, quoted.s, apiserver_resource_version_error(rv));
	}
	e = apiserver_resource_version_wait(req->api, at, req->status);
	if (e < 0)
		return e;
	e = apiserver_object_read(req->api->store, req->resource, req->route.ns, req->route.name,
				  &o, &revision);
	if (e == ERR_NOTFOUND)
		return apiserver_status_not_found(req->status, req->resource, req->route.name);
	if (e < 0)
		return apiserver_status_store_failed(req->status, e);
	return apiserver_respond_object(req, 200, o);
}
