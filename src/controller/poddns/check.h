/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is refused of a pod's DNS settings, and what becomes a warning. Pure. */
#pragma once

#include "api/tree.h"
#include "base/compiler.h"

struct admission_reply;
struct api_errors;
struct poddns_view;

/* Refuses the pod with all these errors. */
void poddns_refuse_errors(const struct api_errors *errors, const json_t *pod,
			  struct admission_reply *reply);
/* Checks spec.dnsPolicy and spec.dnsConfig; the view has the Namespace. */
void poddns_check_spec(const struct poddns_view *view, const json_t *pod,
		       struct admission_reply *reply);
