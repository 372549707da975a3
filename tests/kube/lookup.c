/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks a name up as programs do, by getaddrinfo, and prints its addresses; `-`: each name that is read
 * from standard input, one after the other. Built with each libc that is to be counted. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void look_up(const char *name)
{
	struct addrinfo hints, *list = NULL;
	char text[INET6_ADDRSTRLEN];
	memset(&hints, 0, sizeof(hints));
	hints.ai_socktype = SOCK_STREAM;
	int r = getaddrinfo(name, NULL, &hints, &list);
	if (r != 0) {
		printf("error %s\n", gai_strerror(r));
		return;
	}
	for (const struct addrinfo *i = list; i != NULL; i = i->ai_next) {
		const void *p = i->ai_family == AF_INET
					? (const void *)&((struct sockaddr_in *)(void *)i->ai_addr)
						  ->sin_addr
					: (const void *)&((struct sockaddr_in6 *)(void *)i->ai_addr)
						  ->sin6_addr;
		printf("%s\n", inet_ntop(i->ai_family, p, text, sizeof(text)));
	}
	freeaddrinfo(list);
}

int main(int argc, char **argv)
{
	char name[256];
	if (argc != 2)
		return 2;
	if (strcmp(argv[1], "-") != 0) {
		look_up(argv[1]);
		return 0;
	}
	while (scanf("%255s", name) == 1) {
		look_up(name);
		fflush(stdout);
	}
	return 0;
}
