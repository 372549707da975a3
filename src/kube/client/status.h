/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The server's reason for refusing a request: a `Status` object, or the text of a proxy. */
#pragma once

#include <jansson.h>

struct kube_status {
	int code;	   /* of HTTP; 0: no answer came */
	char reason[64];   /* "Conflict", "AlreadyExists", "Expired", ... */
	char message[512]; /* for people; with the Audit-Id of a refusal */
	unsigned retry_after_s;
	json_t *causes; /* details.causes, a reference of the caller's, or NULL */
};
void kube_status_done(struct kube_status *status);
