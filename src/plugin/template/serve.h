/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answering: the first rule whose zone, class and type fit decides by its patterns and conditions;
 * its records are made one by one, with a wait where a CNAME's target is looked up. */
#pragma once

#include "plugin/template/template_priv.h"

/* Sets run->name to the question's name as text, once per run. ERR_SPACE: the query's arena is
 * full. */
MUST_CHECK int template_need_name(struct template_run *run);
/* Functions of struct plugin, on the query's worker. */
enum verdict template_serve(struct plugin_inst *self, struct query *q);
enum verdict template_resume(struct plugin_inst *self, struct query *q);
void template_worker_done(struct plugin_inst *self, struct worker *worker);
