/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the end of an HTTP call means for a job. */
#pragma once

#include "base/slice.h"
#include "http/client/call.h"
#include "provider/provider.h"

/* What a sentence of PowerDNS is about; all NULL: it does not say, or it is none of the job's. */
struct powerdns_culprit {
	struct provider_change *change;
	const struct provider_rrset *set;
};

/* The call failed, or its status is an error (404 is the caller's to judge first): sets code and sentence
 * of the job, and of the change that PowerDNS names. */
struct powerdns_culprit powerdns_outcome_fail(struct provider_job *job,
					      const struct http_call *call, struct slice body);
