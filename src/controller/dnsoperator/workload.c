/* The DaemonSets and the Service of OpenShift's DNS. */
#include "controller/dnsoperator/workload.h"

#include "base/err.h"
#include "controller/dnsoperator/look_priv.h"

#define NS "openshift-dns"

/* *ret is NULL when it is not there. */
static int read_one(struct controller_ctx *c, const char *path, json_t **ret)
{
	struct kube_request q = { .method = "GET", .path = path };
	struct kube_status st = { 0 };
	int r = kube_call(c->conn, &q, ret, &st);
	if (r < 0)
		*ret = NULL;
	if (r == ERR_NOTFOUND)
		r = 0;
	else if (r < 0)
		r = dnsoperator_failed(c, r, path, &st);
	kube_status_done(&st);
	return r;
}

int dnsoperator_workload_read(struct controller_ctx *c, struct dnsoperator_workload *ret)
{
	*ret = (struct dnsoperator_workload){ 0 };
	int r = read_one(c, "/apis/apps/v1/namespaces/" NS "/daemonsets/dns-default",
			 &ret->servers);
	if (r >= 0)
		r = read_one(c, "/apis/apps/v1/namespaces/" NS "/daemonsets/node-resolver",
			     &ret->node_resolver);
	if (r >= 0)
		r = read_one(c, "/api/v1/namespaces/" NS "/services/dns-default", &ret->service);
	return r;
}

void dnsoperator_workload_done(struct dnsoperator_workload *w)
{
	json_decref(w->servers);
	json_decref(w->node_resolver);
	json_decref(w->service);
}
