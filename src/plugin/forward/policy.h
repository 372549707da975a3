/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which upstream is asked first, and which ones after it. The list beyond the first is made only
 * when it is needed: nearly every query is answered by the first. */
#pragma once

#include "plugin/forward/serve.h"

/* The upstream to ask first, and the one at a position (0: the first). -1: no memory. */
unsigned forward_policy_first(struct forward_query *query);
int forward_policy_at(struct forward_query *query, unsigned at);
