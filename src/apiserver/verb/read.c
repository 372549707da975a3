/* GET of one object. */
#include "apiserver/verb/respond.h"

int apiserver_do_get(struct apiserver_request *req)
{
	const char *rv = apiserver_arg(req->c, "resourceVersion");
	uint64_t at, revision;
	json_t *o;
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
	int e = apiserver_respond_begin(req, APISERVER_ACCEPT_REPLY);
	if (e < 0)
		return e;
	if (!apiserver_version_parse(rv != NULL ? rv : "", &at)) {
		strbuf_add_quoted(&quoted, slice_of(rv));
		return apiserver_refuse(req->st, 500, "",
					"resourceVersion: Invalid value: %s: strconv.ParseUint: "
					"parsing %s: %s",
					quoted.s, quoted.s, apiserver_version_why(rv));
	}
	e = apiserver_wait_revision(req->a, at, req->st);
	if (e < 0)
		return e;
	e = apiserver_object_read(req->a->store, req->r, req->route.ns, req->route.name, &o,
				  &revision);
	if (e == ERR_NOTFOUND)
		return apiserver_not_found(req->st, req->r, req->route.name);
	if (e < 0)
		return apiserver_store_failed(req->st, e);
	return apiserver_respond_object(req, 200, o);
}
