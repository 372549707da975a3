/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of words. */
#include "api/explain/wording.h"

#include <stdio.h>

const char *explain_reason_word(enum explain_reason reason)
{
	static const char *const words[] = { [EXPLAIN_BY_RANGE] = "Range",
					     [EXPLAIN_BY_NAME] = "Name",
					     [EXPLAIN_BY_NODE] = "Node",
					     [EXPLAIN_BY_DEFAULT] = "Default",
					     [EXPLAIN_BY_OWN] = "OwnNetwork" };
	return words[reason];
}

const char *explain_port_text(const struct egress_port *port, char out[EXPLAIN_PORT_TEXT_MAX])
{
	static const char *const protocols[] = {
		[EGRESS_TCP] = "TCP", [EGRESS_UDP] = "UDP", [EGRESS_SCTP] = "SCTP"
	};
	snprintf(out, EXPLAIN_PORT_TEXT_MAX, "%s/%u", protocols[port->protocol],
		 (unsigned)port->number);
	return out;
}
