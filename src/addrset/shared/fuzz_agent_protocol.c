/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as what a peer sends: frames that can be read can be written, and say the same then. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "addrset/shared/agent_protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_add(const struct addrset_agent_frame *frame)
{
	static struct addrset_pair pairs[ADDRSET_AGENT_PAIRS_MAX], again[ADDRSET_AGENT_PAIRS_MAX];
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct addrset_agent_frame second;
	struct addrset_request request = { .pairs = pairs,
					   .n_pairs = frame->n_pairs,
					   .tenant = frame->tenant };
	addrset_agent_pairs(frame, 1, pairs);
	addrset_agent_put_add(&out, frame->number, ADDRSET_AGENT_VERSION, &request, 1);
	struct slice rest = strbuf_slice(&out);
	if (addrset_agent_take(&rest, &second) != 1 || rest.n != 0 ||
	    second.number != frame->number || second.n_pairs != frame->n_pairs ||
	    second.kind != frame->kind || !slice_eq(second.tenant, frame->tenant))
		abort();
	addrset_agent_pairs(&second, 1, again);
	if (memcmp(pairs, again, frame->n_pairs * sizeof(pairs[0])) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = { (const char *)data, size };
	struct addrset_agent_frame frame;
	while (addrset_agent_take(&rest, &frame) == 1) {
		if (frame.kind == ADDRSET_AGENT_ADD || frame.kind == ADDRSET_AGENT_ADD_FOR)
			check_add(&frame);
	}
	return 0;
}
