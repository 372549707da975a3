/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The controllers of `fairlead up`, against its own API, and the Corefile that they make for its
 * DNS server. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "base/strbuf.h"
#include "cmd/controller_choice.h"
#include "controller/controller.h"

struct embedded_admission;
struct upcontrol;

/* The namespace of the controllers' own objects. */
#define UPCONTROL_NAMESPACE "default"

struct upcontrol_conf {
	/* Without its publish and ctx. When the Corefile changes the process gets SIGUSR1, by which
	 * its DNS server reloads. */
	const struct controller_machine *machine;
	const char *
		corefile; /* that the DNS server started with, of upcontrol_read_stored; NULL: its own */
	const struct controller_choice *controllers; /* may be empty */
	const char *data;		      /* of the program; controllers use a part of it */
	struct embedded_admission *admission; /* calls their hooks */
	const union net_addr *lookup_servers; /* as in struct controller_options */
	size_t n_lookup_servers;
	const union net_addr *pod_dns_servers; /* likewise */
	size_t n_pod_dns_servers;
	const struct controller_options *records; /* flags of the controller dnsrecord */
};

/* Before the DNS server starts: replaces *out by the Corefile of the configuration that the API has
 * stored. 1; 0 when there is none, and the server has its own; negative with a sentence. */
MUST_CHECK int upcontrol_read_stored(const struct controller_machine *machine, struct strbuf *out,
				     struct err_text err);
/* When the DNS server listens, since controllers ask it. What `conf` points to is used until upcontrol_stop. */
MUST_CHECK int upcontrol_start(const struct upcontrol_conf *conf, struct upcontrol **ret,
			       struct err_text err);
/* NULL is fine. */
void upcontrol_stop(struct upcontrol *upcontrol);
/* Replaces *out by the Corefile; false when there is none, and the server has its own. */
bool upcontrol_text(struct upcontrol *upcontrol, struct strbuf *out);
/* Adds lines for `fairlead status` (cmd/up/upstatus.h). Any thread. */
void upcontrol_report(struct upcontrol *upcontrol, json_t *lines);
