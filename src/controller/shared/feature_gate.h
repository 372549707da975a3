/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The flag `--feature-gates`: "NAME=true|false,...". */
#pragma once

#include <stdbool.h>

/* 1: the flag turns the gate on, 0: off, -1: it does not list it. The last entry counts. */
int feature_gate_by_flag(const char *flag, const char *gate);
/* EgressFirewallNames: DNS servers learn addresses for egress rules. On if the flag lists it: servers
 * other than this program's refuse the Corefile then, so no platform turns it on. */
bool feature_gate_egress_is_on(const char *flag);
/* EgressFirewallHold: DNS servers hold answers until the client's node has the addresses in force. It turns
 * EgressFirewallNames on; where the flag turns that off, it is off, too. */
bool feature_gate_hold_is_on(const char *flag);
/* LocalRecords: DNS servers answer for DNSRecord objects of type local. As above. */
bool feature_gate_records_is_on(const char *flag);
/* VirtualSearchSuffix: DNS servers walk search lists for pods with one search domain. As above. */
bool feature_gate_search_suffix_is_on(const char *flag);
