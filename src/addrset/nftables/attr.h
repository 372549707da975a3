/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks over netlink attributes. (libmnl's own macros do not compile without warnings.) */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>

static inline const char *nftables_attr_end(const struct nlattr *nest)
{
	return (const char *)mnl_attr_get_payload(nest) + mnl_attr_get_payload_len(nest);
}

/* Each attribute inside of an attribute. */
#define NFTABLES_ATTR_NESTED(attr, nest)                                               \
	for ((attr) = mnl_attr_get_payload(nest);                                      \
	     mnl_attr_ok(attr, (int)(nftables_attr_end(nest) - (const char *)(attr))); \
	     (attr) = mnl_attr_next(attr))

/* Each attribute of a message of nf_tables. */
#define NFTABLES_ATTR_EACH(attr, message)                                                \
	for ((attr) = mnl_nlmsg_get_payload_offset(message, sizeof(struct nfgenmsg));    \
	     mnl_attr_ok(attr, (int)((const char *)mnl_nlmsg_get_payload_tail(message) - \
				     (const char *)(attr)));                             \
	     (attr) = mnl_attr_next(attr))
