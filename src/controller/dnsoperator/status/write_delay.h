/* Which writes can wait, so that the next text need not: the status until servers had a moment to
 * take the text up, since it will say another thing then; the backup until there was a pause in the
 * changes. No clock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct dnsoperator_write_delay {
	uint64_t text_ns;   /* when a text was last written; 0: not by this process */
	uint64_t untold_ns; /* when the first one was that the status says nothing of; 0: it does */
};

/* A text was written. */
void dnsoperator_write_delay_wrote(struct dnsoperator_write_delay *pace, uint64_t now_ns);
/* How long the status can wait; 0: it is to be told now, which counts as done. `settled`: it will
 * not soon be another one. */
uint64_t dnsoperator_write_delay_status(struct dnsoperator_write_delay *pace, bool settled,
					uint64_t now_ns);
/* How long the backup can wait. */
uint64_t dnsoperator_write_delay_backup(const struct dnsoperator_write_delay *pace,
					uint64_t now_ns);
