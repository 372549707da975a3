/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers of names that have records. */
#pragma once

#include "plugin/records/table.h"
#include "server/query.h"

/* The verdict of serve, for what was found for the question. V_WAIT: an alias leads to a name without
 * records here, which the whole server is asked for. */
enum verdict records_answer(struct plugin_inst *self, struct query *q,
			    const struct records_table *table, const struct records_hit *hit);
/* The verdict of resume: the server was asked. */
enum verdict records_answer_resume(struct plugin_inst *self, struct query *q);
