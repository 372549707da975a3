/* Objects by kind and name: each verb of the API in one call. */
#include <string.h>

#include "api/meta.h"
#include "api/patch.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "kube/conn_priv.h"

int kube_get(struct kube_conn *c, const struct kube_ref *o, json_t **ret,
	     struct kube_status *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	api_kind_path(&path, o->kind, o->ns, o->name, NULL);
	return kube_call(c, &(struct kube_request){ .method = "GET", .path = path.s }, ret, reterr);
}
