/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long the status and the backup wait after a Corefile was written. */
#include "controller/dnsoperator/status/write_delay.h"

#include "base/clock.h"

/* Fairlead loads a Corefile within a few tens of milliseconds. */
#define STATUS_NS (300 * NS_PER_MS)
#define BACKUP_NS NS_PER_S

static uint64_t remaining_ns(uint64_t since_ns, uint64_t wait_ns, uint64_t now_ns)
{
	return since_ns != 0 && now_ns < since_ns + wait_ns ? since_ns + wait_ns - now_ns : 0;
}

void dnsoperator_write_delay_wrote(struct dnsoperator_write_delay *delay, uint64_t now_ns)
{
	delay->corefile_ns = now_ns;
	if (delay->unreported_since_ns == 0)
		delay->unreported_since_ns = now_ns;
}

uint64_t dnsoperator_write_delay_status(struct dnsoperator_write_delay *delay, bool settled,
					uint64_t now_ns)
{
	uint64_t wait = settled ? 0 : remaining_ns(delay->unreported_since_ns, STATUS_NS, now_ns);
	if (wait == 0)
		delay->unreported_since_ns = 0;
	return wait;
}

uint64_t dnsoperator_write_delay_backup(const struct dnsoperator_write_delay *delay,
					uint64_t now_ns)
{
	return remaining_ns(delay->corefile_ns, BACKUP_NS, now_ns);
}
