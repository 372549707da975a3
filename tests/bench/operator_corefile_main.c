/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the DNS operator's text: see operator_corefile.c. */
#include <stdio.h>
#include <stdlib.h>

#include "operator_corefile.h"

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: operator-corefile TEMPLATES ZONES SERVERS\n");
		return 64;
	}
	struct strbuf text = STRBUF_INIT;
	unsigned n[3];
	for (int i = 0; i < 3; i++)
		n[i] = (unsigned)strtoul(argv[i + 1], NULL, 10);
	operator_corefile(n[0], n[1], n[2], &text);
	fputs(text.s, stdout);
	strbuf_done(&text);
	return 0;
}
