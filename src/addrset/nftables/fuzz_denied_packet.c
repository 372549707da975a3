/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a packet: either nothing is read, or two addresses of one family; a shorter copy says nothing else. */
#include <string.h>

#include "addrset/nftables/denied_packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nftables_connection whole, cut;
	if (!nftables_denied_packet_read(data, len, &whole))
		return 0;
	if (whole.from.n != whole.to.n || (whole.from.n != 4 && whole.from.n != 16))
		__builtin_trap();
	if (nftables_denied_packet_read(data, len / 2, &cut) &&
	    (memcmp(&cut.to, &whole.to, sizeof(cut.to)) != 0 ||
	     (cut.port != 0 && cut.port != whole.port)))
		__builtin_trap();
	return 0;
}
