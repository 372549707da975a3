/* spec.nodePlacement. */
#include "controller/dnsoperator/placement.h"

#include "api/meta.h"

json_t *dnsoperator_node_selector(const json_t *dns)
{
	json_t *v = api_get(dns, "spec.nodePlacement.nodeSelector");
	return json_object_size(v) != 0 ? json_incref(v)
					: json_pack("{ss}", "kubernetes.io/os", "linux");
}

json_t *dnsoperator_tolerations(const json_t *dns)
{
	json_t *v = api_get(dns, "spec.nodePlacement.tolerations");
	return json_array_size(v) != 0
		       ? json_incref(v)
		       : json_pack("[{ss,ss}]", "key", "node-role.kubernetes.io/master", "operator",
				   "Exists");
}
