/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks servers which text they run, with the operator's code:
 *	kube-acker hash			the hash of standard input
 *	kube-acker ask ADDR:PORT...	a line for each: told HASH, other TEXT, unreachable TEXT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/readfile.h"
#include "controller/dnsoperator/rollout/marker_query.h"

enum { SERVERS_MAX = 16 };

static int print_hash(void)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	char hash[DNSOPERATOR_MARKER_HASH_MAX];
	if (readfile_fd(STDIN_FILENO, 1 << 20, &text) < 0)
		return 1;
	dnsoperator_marker_hash(text.s, text.n, hash);
	printf("%s\n", hash);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = { [DNSOPERATOR_MARKER_FOUND] = "told",
					     [DNSOPERATOR_MARKER_MISSING] = "other",
					     [DNSOPERATOR_MARKER_FAILED] = "other",
					     [DNSOPERATOR_MARKER_UNREACHABLE] = "unreachable" };
	union net_addr addr[SERVERS_MAX];
	struct dnsoperator_marker_answer ack[SERVERS_MAX];
	if (argc == 2 && strcmp(argv[1], "hash") == 0)
		return print_hash();
	if (argc < 3 || argc - 2 > SERVERS_MAX || strcmp(argv[1], "ask") != 0)
		return 64;
	for (int i = 2; i < argc; i++) {
		if (net_addr_parse(slice_of(argv[i]), &addr[i - 2]) < 0)
			return 64;
	}
	dnsoperator_marker_query(addr, (size_t)(argc - 2),
				 &(struct dnsoperator_marker_query_opts){ 0 }, ack);
	for (int i = 0; i < argc - 2; i++)
		printf("%s %s%s\n", kinds[ack[i].kind], ack[i].hash, ack[i].text);
	return 0;
}
