/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pod, or the pod template of another object, in a manifest. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/compiler.h"
#include "cmd/manifest.h"
#include "dns/podresolv/podresolv.h"

struct pod_manifest {
	const struct manifest_object *object;
	const char *field; /* where its pod spec is: "spec.template.spec" */
	const char *ns;
	json_t *spec; /* own copy, with today's spelling of what is accepted in an older one */
};

/* False if the object holds no pod. `ns` is the namespace if it names none. Warnings about older
 * spellings are printed. */
MUST_CHECK bool pod_manifest_open(struct pod_manifest *pod, const struct manifest_object *object,
				  const char *ns);
void pod_manifest_close(struct pod_manifest *pod);

/* Prints what the profile refuses, "FILE:LINE:COL: FIELD: TEXT" each; false if there is any. */
MUST_CHECK bool pod_manifest_validate(const struct pod_manifest *pod,
				      enum podresolv_profile profile);

/* "FILE:LINE:COL: " on standard error and the text. `field` is below the pod spec ("dnsConfig"); ""
 * is the whole object. */
PRINTF_LIKE(3, 4)
void pod_manifest_report(const struct pod_manifest *pod, const char *field, const char *fmt, ...);
