/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters. Series are found by labels once; after that by a few comparisons in a list that hangs
 * on the zone of the rule. Lists only grow, so workers read them without a lock. */
#pragma once

#include "plugin/template/template_priv.h"

enum template_failure { TEMPLATE_FAILED, TEMPLATE_BAD_RECORD };

/* Each adds 1 to CoreDNS's series labelled by the run, and by the record that failed. Answers and
 * failures are also counted in series of our own, which a cache that has them adds to. */
void template_count_match(struct template_run *run);
void template_count_answer(const struct template_run *run);
void template_count_failure(const struct template_run *run, const struct template_record *rec,
			    enum template_failure what);
void template_count_done(struct template_zone *zone);
