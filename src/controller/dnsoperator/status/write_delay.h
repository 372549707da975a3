/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Delays less urgent writes, so that the next Corefile need not wait: the status until servers had a
 * moment to load the Corefile, because it changes then; the backup until changes pause. No clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct dnsoperator_write_delay {
	uint64_t corefile_ns;	      /* when a Corefile was last written; 0: not by this process */
	uint64_t unreported_since_ns; /* first write that the status does not report yet; 0: none */
};

/* A Corefile was written. */
void dnsoperator_write_delay_wrote(struct dnsoperator_write_delay *delay, uint64_t now_ns);
/* Nanoseconds until the status should be written; 0 means now, and marks it as written. `settled`: it
 * will not change soon. */
uint64_t dnsoperator_write_delay_status(struct dnsoperator_write_delay *delay, bool settled,
					uint64_t now_ns);
/* Nanoseconds until the backup should be written. */
uint64_t dnsoperator_write_delay_backup(const struct dnsoperator_write_delay *delay,
					uint64_t now_ns);
