/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of a rule as text. Equal steps have equal text and different ones have not, since the digest of
 * a rule is made of it. */
#include "addrset/nftables/step_text.h"

#include <arpa/inet.h>
#include <assert.h>
#include <inttypes.h>

enum step_value {
	VALUE_NONE,
	VALUE_FAMILY,
	VALUE_RANGE,
	VALUE_ID,
	VALUE_WORD,
	VALUE_NUMBER,
	VALUE_OWNER
};

static const struct {
	const char *word;
	enum step_value value;
} step_words[] = {
	[NFTABLES_IS_ADMITTED] = { "is admitted", VALUE_NONE },
	[NFTABLES_IS_REPLY] = { "is reply", VALUE_NONE },
	[NFTABLES_IS_NEIGHBOUR] = { "is neighbour discovery", VALUE_NONE },
	[NFTABLES_IS_FAMILY] = { "is", VALUE_FAMILY },
	[NFTABLES_IS_TCP] = { "is tcp", VALUE_NONE },
	[NFTABLES_FROM_RANGE] = { "from", VALUE_RANGE },
	[NFTABLES_TO_RANGE] = { "to", VALUE_RANGE },
	[NFTABLES_TO_NAME] = { "to name", VALUE_ID },
	[NFTABLES_TO_PORTS] = { "to ports", VALUE_ID },
	[NFTABLES_BY_POD] = { "by pod", VALUE_FAMILY },
	[NFTABLES_IS_OLDER] = { "is older", VALUE_NONE },
	[NFTABLES_IS_MID_STREAM] = { "is mid-stream", VALUE_NONE },
	[NFTABLES_IS_LOOPBACK] = { "by loopback", VALUE_NONE },
	[NFTABLES_BY_USER] = { "by user", VALUE_OWNER },
	[NFTABLES_BY_CGROUP] = { "by cgroup", VALUE_OWNER },
	[NFTABLES_IS_MARKED] = { "is marked", VALUE_OWNER },
	[NFTABLES_COUNT] = { "count", VALUE_WORD },
	[NFTABLES_ADMIT] = { "admit", VALUE_ID },
	[NFTABLES_LOG_SAMPLE] = { "log sample", VALUE_NUMBER },
	[NFTABLES_ACCEPT] = { "accept", VALUE_NONE },
	[NFTABLES_JUMP] = { "jump", VALUE_WORD },
	[NFTABLES_GOTO] = { "goto", VALUE_WORD },
	[NFTABLES_RESET] = { "reset", VALUE_NONE },
	[NFTABLES_UNREACHABLE] = { "unreachable", VALUE_NONE },
};

void nftables_id_text(const struct addrset_id *id, char out[NFTABLES_COUNTER_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < ADDRSET_ID_BYTES; i++) {
		out[2 * i] = digits[id->bytes[i] >> 4];
		out[2 * i + 1] = digits[id->bytes[i] & 15];
	}
	out[2 * ADDRSET_ID_BYTES] = '\0';
}

static const char *family_word(sa_family_t family)
{
	return family == AF_INET ? "ip" : "ip6";
}

static void add_value(const struct nftables_step *step, struct strbuf *out)
{
	char text[INET6_ADDRSTRLEN];
	char hex[NFTABLES_COUNTER_BYTES];
	switch (step_words[step->kind].value) {
	case VALUE_NONE:
		break;
	case VALUE_FAMILY:
		strbuf_addf(out, " %s", family_word(step->family));
		break;
	case VALUE_RANGE:
		inet_ntop(step->range.family, step->range.ip, text, sizeof(text));
		strbuf_addf(out, " %s/%u", text, step->range.bits);
		break;
	case VALUE_ID:
		nftables_id_text(&step->id, hex);
		strbuf_addf(out, " %s", hex);
		if (step->kind == NFTABLES_TO_NAME)
			strbuf_addf(out, " %s", family_word(step->id_family));
		break;
	case VALUE_OWNER:
		strbuf_addf(out, " %" PRIu64 " at %u", step->owner, step->level);
		break;
	case VALUE_WORD:
		strbuf_addf(out, " %s", step->word);
		break;
	case VALUE_NUMBER:
		strbuf_addf(out, " %u", step->number);
		break;
	}
}

void nftables_steps_text(const struct nftables_step *steps, size_t n_steps, struct strbuf *out)
{
	for (size_t i = 0; i < n_steps; i++) {
		assert(steps[i].kind < ARRAY_LEN(step_words));
		strbuf_adds(out, i > 0 ? ", " : "");
		strbuf_adds(out, step_words[steps[i].kind].word);
		add_value(&steps[i], out);
	}
}
