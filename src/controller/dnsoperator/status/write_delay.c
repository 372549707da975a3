/* When a text was written last, and since when one is untold: what waits for how long. */
#include "controller/dnsoperator/status/write_delay.h"

#include "base/clock.h"

/* A server of ours has a text within a few tens of milliseconds. */
#define TELL_NS	  (300 * NS_PER_MS)
#define BACKUP_NS NS_PER_S

static uint64_t remaining_ns(uint64_t since_ns, uint64_t wait_ns, uint64_t now_ns)
{
	return since_ns != 0 && now_ns < since_ns + wait_ns ? since_ns + wait_ns - now_ns : 0;
}

void dnsoperator_write_delay_wrote(struct dnsoperator_write_delay *pace, uint64_t now_ns)
{
	pace->text_ns = now_ns;
	if (pace->untold_ns == 0)
		pace->untold_ns = now_ns;
}

uint64_t dnsoperator_write_delay_status(struct dnsoperator_write_delay *pace, bool settled,
					uint64_t now_ns)
{
	uint64_t wait = settled ? 0 : remaining_ns(pace->untold_ns, TELL_NS, now_ns);
	if (wait == 0)
		pace->untold_ns = 0;
	return wait;
}

uint64_t dnsoperator_write_delay_backup(const struct dnsoperator_write_delay *pace, uint64_t now_ns)
{
	return remaining_ns(pace->text_ns, BACKUP_NS, now_ns);
}
