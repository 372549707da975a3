/* ServiceCIDR: made by the server itself, only read by others. */
#include "apiserver/kind/cells.h"
#include "apiserver/kind/strategy.h"

const struct apiserver_strategy apiserver_servicecidr_strategy = {
	.kind = "ServiceCIDR",
	.group = "networking.k8s.io",
	.counts = apiserver_no_generation,
	.cells = apiserver_cells_servicecidr,
};
