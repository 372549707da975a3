/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Secrets in the files of `fairlead plan`: they come before those of the API, as they would once applied. */
#pragma once

#include <stdbool.h>

#include "api/tree.h"
#include "base/err_text.h"
#include "controller/dnsrecord/secrets/credentials.h"

/* Adds a Secret of a file, with `ns` as its namespace, to the list. */
void plan_file_secrets_add(json_t *list, const json_t *secret, const char *ns);
/* The credentials of a DNSRecord, if the list has its Secret: 1, or ERR_CONFIG with a sentence that has no
 * value of the Secret; 0: it is not there. dnsrecord_credentials_done() ends them in any case. */
int plan_file_secrets_read(const json_t *list, const json_t *record,
			   struct dnsrecord_credentials *ret, struct err_text err);
/* Wipes the values and frees the list; NULL is fine. */
void plan_file_secrets_free(json_t *list);
