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
};

/* As they were given; NULL: not. */
struct controllerconf_flags {
	const char *kubeconfig, *context, *lease_kubeconfig, *controllers, *ns, *listen,
		*log_format;
	const char *duration, *renew, *retry, *write_rate, *lookup_servers;
	const char *hook_listen, *hook_cert, *hook_key, *hook_secret, *hook_names,
		*hook_registration;
	const char *ca_life, *cert_life, *overlap, *check_interval;
	const char *dns_instances, *dns_ask, *dns_reload, *dns_settle;
	struct controller_options options; /* completed by controllerconf_read */
	bool no_election;
};

struct controllerconf {
	struct elect_times times;
	struct controller_choice chosen;
	VEC(struct controller_writes) writes; /* of the chosen ones, in their order */
	struct hookserver_conf hooks;
	const char *names[CONTROLLERCONF_NAMES_MAX + 1]; /* of `hooks` */
	char *names_text;
	union net_addr instances[CONTROLLERCONF_INSTANCES_MAX]; /* of the options */
	union net_addr lookup_servers[CONTROLLERCONF_LOOKUP_SERVERS_MAX];
};

/* Negative with a text in `why`. `ret` is zeroed before, lives as long as the flags are used, and
 * is given back in any case. */
MUST_CHECK int controllerconf_read(struct controllerconf_flags *flags, struct controllerconf *ret,
				   struct err_text why);
void controllerconf_done(struct controllerconf *controllerconf);
