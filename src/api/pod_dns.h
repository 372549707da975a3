/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dnsPolicy, hostNetwork and dnsConfig of Pods and pod templates: between JSON trees and the
 * structs of dns/podresolv. */
#pragma once

#include <jansson.h>

#include "api/fielderr.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "dns/podresolv/podresolv.h"

/* The pod spec inside an object: a Pod's, or the template's of a Deployment, StatefulSet,
 * DaemonSet, ReplicaSet, Job, CronJob (and PodTemplate, ReplicationController). Borrowed; NULL for
 * other kinds. *ret_field is its path, "spec.template.spec". */
const json_t *api_pod_spec(const json_t *object, const char **ret_field);

/* Reads the pod's part of *ret: policy, host network, dnsConfig. Members of a wrong type are
 * errors at their path; the caller sets the rest. Texts are borrowed from the tree, arrays lie in
 * the growing arena. The policy as it is written is in *ret_policy. */
void api_pod_dns_read(const json_t *pod_spec, const char *field, struct arena *arena,
		      struct podresolv_input *ret, struct slice *ret_policy,
		      struct api_errors *errors);

/* Adds what podresolv_validate refuses, worded as kube-apiserver words it, with paths below
 * `field`. */
void api_pod_dns_validate(const json_t *pod_spec, const char *field, enum podresolv_profile profile,
			  struct api_errors *errors);

/* A complete dnsConfig of what was kept, for a pod with the policy None; a new tree. */
json_t *api_pod_dns_config(const struct podresolv_result *result);
