/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a reply: the elements are the same in whatever pieces they arrive, and as many as jansson finds. The
 * first byte says how long pieces are. */
#include "provider/powerdns/elements_priv.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct tally {
	size_t elements, bytes;
};

static int count_element(void *ctx, struct slice element)
{
	struct tally *tally = ctx;
	tally->elements++;
	tally->bytes += element.n;
	if (element.n < 2 || element.p[0] != '{')
		abort();
	return 0;
}

static int cut_reply(const char *member, struct slice reply, size_t piece, struct tally *tally)
{
	struct powerdns_elements elements;
	int r = 0;
	*tally = (struct tally){ 0 };
	powerdns_elements_init(&elements, member, count_element, tally);
	for (size_t at = 0; at < reply.n && r == 0; at += piece)
		r = powerdns_elements_feed(
			&elements, (struct slice){ reply.p + at, MIN(piece, reply.n - at) });
	if (r == 0)
		r = powerdns_elements_finish(&elements);
	powerdns_elements_done(&elements);
	return r;
}

static void check_count(const char *member, struct slice reply, size_t found)
{
	json_t *tree = json_loadb(reply.p, reply.n, JSON_REJECT_DUPLICATES, NULL);
	const json_t *list = member == NULL ? tree : json_object_get(tree, member);
	if (tree != NULL && json_array_size(list) != found)
		abort();
	json_decref(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const members[] = { NULL, "rrsets" };
	if (len < 2)
		return 0;
	struct slice reply = { (const char *)data + 1, len - 1 };
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		struct tally whole, pieces;
		int r = cut_reply(members[i], reply, reply.n, &whole);
		if (cut_reply(members[i], reply, (size_t)data[0] % 64 + 1, &pieces) != r ||
		    whole.elements != pieces.elements || whole.bytes != pieces.bytes)
			abort();
		if (r == 0)
			check_count(members[i], reply, whole.elements);
	}
	return 0;
}
