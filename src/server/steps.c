/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the lists of the three walks. */
#include "server/steps.h"

const struct steps *steps_new(struct arena *arena, struct plugin_inst *const *chain, unsigned count,
			      enum verdict (*end)(struct plugin_inst *inst, struct query *q))
{
	struct steps *steps = arena_calloc(arena, (count + 1) * sizeof(*steps));
	struct steps_call *down = arena_calloc(arena, (count + 1) * sizeof(*down));
	struct steps_call *up = arena_calloc(arena, (count + 1) * sizeof(*up));
	struct steps_done *done = arena_calloc(arena, (count + 1) * sizeof(*done));
	for (unsigned at = 0; at < count; at++) {
		struct plugin_inst *inst = chain[at];
		const struct plugin *plugin = inst->plugin;
		struct steps_call call = { .inst = inst,
					   .at = (uint16_t)at,
					   .entered = (uint16_t)(at + 1) };
		steps[at] = (struct steps){ down, up, done };
		call.call = plugin->serve;
		if (call.call != NULL)
			*down++ = call;
		call.call = inst->respond;
		if (call.call != NULL)
			*up++ = call;
		if (plugin->done != NULL)
			*done++ = (struct steps_done){ plugin->done, inst };
	}
	*down = (struct steps_call){ .call = end,
				     .inst = count != 0 ? chain[count - 1] : NULL,
				     .at = (uint16_t)count,
				     .entered = (uint16_t)count };
	steps[count] = (struct steps){ down, up, done };
	return steps;
}
