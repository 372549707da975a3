/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the collected steps do to a reply: they run newest first over every record, authority before
 * answer before additional, as CoreDNS runs them. */
#pragma once

#include "plugin/rewrite/rewrite_priv.h"

/* Runs the steps over a reply; V_WAIT when a look-up is under way. */
enum verdict rewrite_reply(struct plugin_inst *self, struct query *q, struct rewrite_state *st);
enum verdict rewrite_reply_resume(struct plugin_inst *self, struct query *q,
				  struct rewrite_state *st);
