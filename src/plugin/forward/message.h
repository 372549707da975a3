/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The query that goes up: the client's, as plugins above have left it. */
#pragma once

#include "plugin/forward/serve.h"

/* The query for upstreams in f->msg. ERR_SPACE. */
MUST_CHECK int forward_message_build(struct forward_query *query);
