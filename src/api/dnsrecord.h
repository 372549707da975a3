/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A DNSRecord (extensions.gardener.cloud/v1alpha1) as its controller reads it. */
#pragma once

#include <stdint.h>

#include "api/view.h"

enum api_record_type { API_RECORD_A, API_RECORD_AAAA, API_RECORD_CNAME, API_RECORD_TXT };

enum { API_DNSRECORD_TTL_S = 120 };

struct api_dnsrecord_condition {
	const char *type, *status, *reason, *message;
};

struct api_dnsrecord {
	const char *type;  /* the provider's: "aws-route53" */
	const char *class; /* "" is as good as "shoot" (DR-54) */
	const char *secret_name, *secret_namespace;
	const char *region, *zone; /* "": not set */
	const char *name;
	int record_type; /* enum api_record_type */
	struct api_strings values;
	int64_t ttl_s;		       /* 120 when it is not set; 0 is 0 (DR-4) */
	const json_t *provider_config; /* NULL: none */

	/* status */
	const char *status_zone;
	const char *operation_type, *operation_state; /* of lastOperation */
	int64_t observed_generation;
	struct api_structs conditions; /* struct api_dnsrecord_condition */
};

extern const struct api_view api_dnsrecord_view;
