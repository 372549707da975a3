/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words that the forms of a report share. */
#pragma once

#include "api/explain/decision.h"

enum { EXPLAIN_PORT_TEXT_MAX = 16 };

/* "Range", "Name", "Node", "Default", "OwnNetwork" */
const char *explain_reason_word(enum explain_reason reason);
/* "TCP/443" */
const char *explain_port_text(const struct egress_port *port, char out[EXPLAIN_PORT_TEXT_MAX]);
