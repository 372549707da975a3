/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks a name up as programs do, by getaddrinfo, and prints its addresses. Built with each libc
 * that is to be counted. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
	struct addrinfo hints, *list = NULL;
	char text[INET6_ADDRSTRLEN];
	if (argc != 2)
		return 2;
	memset(&hints, 0, sizeof(hints));
	hints.ai_socktype = SOCK_STREAM;
	int r = getaddrinfo(argv[1], NULL, &hints, &list);
	if (r != 0) {
		printf("error %s\n", gai_strerror(r));
		return 0;
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
	return 0;
}
