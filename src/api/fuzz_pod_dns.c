/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any JSON value as a pod's spec: its DNS settings are read, refused or computed, and a complete
 * dnsConfig of a valid pod is valid again and gives the same lists. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "api/pod_dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_valid(const json_t *spec, enum podresolv_profile profile)
{
	struct api_errors errors = { 0 };
	api_pod_dns_validate(spec, "spec", profile, &errors);
	bool valid = errors.n == 0;
	api_errors_done(&errors);
	return valid;
}

/* The complete dnsConfig of the pod on a node without resolver file. */
static json_t *complete(const json_t *spec)
{
	const struct slice cluster_dns = SLICE("10.0.0.10");
	struct podresolv_input input = { .ns = SLICE("ns"),
					 .no_host_file = true,
					 .cluster_dns = &cluster_dns,
					 .n_cluster_dns = 1,
					 .cluster_domain = SLICE("z") };
	struct podresolv_result result;
	struct api_errors errors = { 0 };
	struct slice policy;
	struct arena arena;
	arena_init(&arena);
	api_pod_dns_read(spec, "spec", &arena, &input, &policy, &errors);
	if (podresolv_compute(&input, &arena, &result, (struct err_text){ NULL, 0 }) < 0)
		abort();
	json_t *config = api_pod_dns_config(&result);
	api_errors_done(&errors);
	arena_done(&arena);
	return config;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *spec = json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (spec == NULL)
		return 0;
	json_t *config = complete(spec);
	if (is_valid(spec, PODRESOLV_KUBELET)) {
		json_t *again = json_pack("{sssO}", "dnsPolicy", "None", "dnsConfig", config);
		json_t *same = complete(again);
		if (!is_valid(again, PODRESOLV_KUBELET) || !json_equal(config, same))
			abort();
		json_decref(same);
		json_decref(again);
	}
	json_decref(config);
	json_decref(spec);
	return 0;
}
