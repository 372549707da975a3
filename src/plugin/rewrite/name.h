/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Applying rules to the question. */
#pragma once

#include "plugin/rewrite/rewrite_priv.h"

enum verdict rewrite_out_of_memory(struct query *q);
enum rewrite_result rewrite_failed(struct rewrite_run *run, enum verdict verdict);
/* Collects an action; REWRITE_DONE or, without memory, REWRITE_FAILED. */
enum rewrite_result rewrite_push(struct rewrite_run *run, const struct rewrite_action *act);
enum rewrite_result rewrite_apply_name(const struct rewrite_rule *rule, struct rewrite_run *run);
enum rewrite_result rewrite_apply_metadata(const struct rewrite_rule *rule,
					   struct rewrite_run *run);
/* A rule that only has actions: for names that match (ttl, rcode), or for all (cname). */
enum rewrite_result rewrite_apply_match(const struct rewrite_rule *rule, struct rewrite_run *run);
enum rewrite_result rewrite_apply_always(const struct rewrite_rule *rule, struct rewrite_run *run);
enum rewrite_result rewrite_apply_never(const struct rewrite_rule *rule, struct rewrite_run *run);
enum rewrite_result rewrite_apply_type(const struct rewrite_rule *rule, struct rewrite_run *run);
enum rewrite_result rewrite_apply_class(const struct rewrite_rule *rule, struct rewrite_run *run);
