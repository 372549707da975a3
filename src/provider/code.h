/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How calls and changes end: the classes into which every provider sorts its errors. */
#pragma once

#include <stdbool.h>

/* What the publisher does with a failed batch. */
enum provider_reaction {
	PROVIDER_REPORT,  /* each change has its own result already */
	PROVIDER_RETRY,	  /* the same call again, later */
	PROVIDER_VERIFY,  /* it may have been applied: reads, then goes on */
	PROVIDER_ISOLATE, /* some change is at fault: it is searched for */
	PROVIDER_FAIL,	  /* all changes of the batch have this result */
};

/* name, label of metrics, reaction, Gardener's error code ("": none, DR-44) */
#define PROVIDER_CODE_MAP(X)                                                                             \
	X(OK, "ok", REPORT, "")                                                                          \
	X(UNKNOWN, "unknown", REPORT, "")                                                                \
	/* Too many calls; the zone, or the provider, is busy with others. */                            \
	X(THROTTLED, "throttled", RETRY, "")                                                             \
	/* Network, 5xx: nothing was applied. */                                                         \
	X(TRANSIENT, "transient", RETRY, "")                                                             \
	/* The request was sent, its reply was lost: it may have been applied. */                        \
	X(UNSURE, "unsure", VERIFY, "")                                                                  \
	X(UNAUTHENTICATED, "unauthenticated", FAIL, "ERR_INFRA_UNAUTHENTICATED")                         \
	X(UNAUTHORIZED, "unauthorized", ISOLATE, "ERR_INFRA_UNAUTHORIZED")                               \
	X(NO_ZONE, "no_zone", FAIL, "ERR_CONFIGURATION_PROBLEM")                                         \
	/* The name belongs to a longer zone, and nothing was written. */                                \
	X(OTHER_ZONE, "other_zone", ISOLATE, "ERR_CONFIGURATION_PROBLEM")                                \
	X(CONFLICT, "conflict", ISOLATE, "ERR_CONFIGURATION_PROBLEM")                                    \
	X(INVALID, "invalid", ISOLATE, "ERR_CONFIGURATION_PROBLEM")                                      \
	X(QUOTA, "quota", ISOLATE, "ERR_INFRA_QUOTA_EXCEEDED")                                           \
	/* The server answers with an error that names no reason, and applies nothing: reads show it. */ \
	X(FAILED, "failed", ISOLATE, "ERR_RETRYABLE_INFRA_DEPENDENCIES")                                 \
	/* The lease ended, or would have during the call: nothing was sent. */                          \
	X(NO_LEASE, "no_lease", FAIL, "")

enum provider_code {
#define X(name, label, reaction, gardener) PROVIDER_##name,
	PROVIDER_CODE_MAP(X)
#undef X
};
enum { PROVIDER_CODES = PROVIDER_NO_LEASE + 1 };

/* In the error of a PROVIDER_CONFLICT: what is in the way is somebody else's record set of this name and
 * type, which may be overwritten if its owner agrees. */
#define PROVIDER_NOT_OURS "exists and is not ours"

/* The sentence of PROVIDER_OTHER_ZONE: type and name of the set, the zone, and the longer one. */
#define PROVIDER_OTHER_ZONE_TEXT                                                               \
	"the %s record set '%s' is not served in the zone '%s': the name belongs to the zone " \
	"'%s'; name that zone in spec.zone"

const char *provider_code_label(enum provider_code code);
enum provider_reaction provider_code_reaction(enum provider_code code);
/* "" for what passes by itself: gardenlet takes any code for an error that stays. */
const char *provider_code_gardener(enum provider_code code);
