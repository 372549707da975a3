/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The DaemonSets and the Service of OpenShift's DNS. */
#include "controller/dnsoperator/status/workload.h"

#include "controller/dnsoperator/pass.h"

int dnsoperator_workload_read(struct controller_ctx *ctx, struct dnsoperator_workload *ret)
{
	*ret = (struct dnsoperator_workload){ 0 };
	const struct {
		const char *path;
		json_t **ret;
	} rows[] = {
		{ "/apis/apps/v1/namespaces/" DNSOPERATOR_OPENSHIFT_NS "/daemonsets/dns-default",
		  &ret->servers },
		{ "/apis/apps/v1/namespaces/" DNSOPERATOR_OPENSHIFT_NS "/daemonsets/node-resolver",
		  &ret->node_resolver },
		{ "/api/v1/namespaces/" DNSOPERATOR_OPENSHIFT_NS "/services/dns-default",
		  &ret->service },
	};
	int r = 0;
	for (size_t i = 0; i < ARRAY_LEN(rows) && r >= 0; i++)
		r = dnsoperator_get(ctx, rows[i].path, rows[i].path, rows[i].ret);
	return r;
}

void dnsoperator_workload_done(struct dnsoperator_workload *workload)
{
	json_decref(workload->servers);
	json_decref(workload->node_resolver);
	json_decref(workload->service);
}
