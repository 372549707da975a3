/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The flags of `fairlead controller`, and the configuration made of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/vec.h"
#include "cmd/controller_choice.h"
#include "controller/controller.h"
#include "kube/leader/elect.h"
#include "kube/webhook/hookserver.h"
#include "net/addr.h"

enum {
	CONTROLLERCONF_NAMES_MAX = 16,
	CONTROLLERCONF_INSTANCES_MAX = 256,
	CONTROLLERCONF_WRITES_MAX = 1000000,
	CONTROLLERCONF_LOOKUP_SERVERS_MAX = 8,
	CONTROLLERCONF_POD_SERVERS_MAX = 3, /* a pod has no more */
};

/* As they were given; NULL: not. */
struct controllerconf_flags {
	const char *kubeconfig, *context, *lease_kubeconfig, *controllers, *ns, *listen,
		*log_format;
	const char *duration, *renew, *retry, *write_rate, *lookup_servers, *take_lease, *heartbeat;
	const char *hook_listen, *hook_cert, *hook_key, *hook_secret, *hook_names,
		*hook_registration;
	const char *ca_life, *cert_life, *overlap, *check_interval;
	const char *dns_instances, *dns_ask, *dns_reload, *dns_settle, *pod_dns_servers,
		*dnsrecord_probe, *dnsrecord_serials, *dnsrecord_notify;
	struct controller_options options; /* completed by controllerconf_read */
	bool no_election;
};

struct controllerconf {
	struct elect_times times;
	struct controller_choice chosen;
	VEC(struct controller_writes) writes; /* of the chosen ones, in their order */
	VEC(struct controller_lease) rivals;  /* that they must hold as well, likewise */
	char *rivals_text;
	struct hookserver_conf hooks;
	const char *names[CONTROLLERCONF_NAMES_MAX + 1]; /* of `hooks` */
	char *names_text;
	union net_addr instances[CONTROLLERCONF_INSTANCES_MAX]; /* of the options */
	union net_addr lookup_servers[CONTROLLERCONF_LOOKUP_SERVERS_MAX];
	union net_addr pod_dns_servers[CONTROLLERCONF_POD_SERVERS_MAX];
	union net_addr notify;
};

/* Negative with a text in `why`. `ret` is zeroed before, lives as long as the flags are used, and
 * is given back in any case. */
MUST_CHECK int controllerconf_read(struct controllerconf_flags *flags, struct controllerconf *ret,
				   struct err_text why);
/* The part of it that is about DNSRecords: fills `flags->options`, which uses `notify`. Negative likewise. */
MUST_CHECK int controllerconf_read_dnsrecord(struct controllerconf_flags *flags,
					     union net_addr *notify, struct err_text why);
/* Addresses with ports, separated by commas; NULL: none. How many, or -1 with a text that names the
 * flag. */
MUST_CHECK int controllerconf_parse_addresses(const char *flag, const char *text,
					      union net_addr *ret, int max, struct err_text why);
/* The same without ports, as resolv.conf has them, CONTROLLERCONF_POD_SERVERS_MAX at most. */
MUST_CHECK int controllerconf_parse_ips(const char *flag, const char *text,
					union net_addr ret[CONTROLLERCONF_POD_SERVERS_MAX],
					struct err_text why);
/* Lists with commas between, NULL: the default. 0, or -1 with a text that names the flag and the words that
 * it takes. */
MUST_CHECK int controllerconf_check_types(const char *list, struct err_text why);
MUST_CHECK int controllerconf_check_classes(const char *list, struct err_text why);
void controllerconf_done(struct controllerconf *controllerconf);
