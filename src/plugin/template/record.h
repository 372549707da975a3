/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One record template: as much of it as possible becomes wire data at load, the rest is text made
 * of pieces, or the template language. */
#pragma once

#include "plugin/template/template_priv.h"

struct dns_rrtext;

/* At load, after the rule's matchers were compiled. */
MUST_CHECK int template_record_compile(struct template_rule *rule, struct template_record *rec,
				       struct dns_rrtext *rrtext, struct srcerr *err);
void template_record_done(struct template_record *rec);
/* Makes a record and appends it to q->resp. 0, or negative with a text for `errors` in *ret_why
 * (arena or static). */
MUST_CHECK int template_record_make(struct template_run *run, const struct template_record *rec,
				    struct dns_rr **ret, const char **ret_why);
