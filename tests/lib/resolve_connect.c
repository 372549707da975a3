/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks names up as programs do, by getaddrinfo, and connects to each at once.
 *
 *	resolve-connect FORMAT FROM TO PORT [REPEAT_SECONDS]
 *
 * FORMAT has one %u for the numbers FROM to TO - 1. Prints one line: how many were opened, refused, silent, not
 * found (SERVFAIL and the like), then microseconds of a lookup at the 50th and 99th percentile and at most. Each
 * refusal is a line on standard error. With REPEAT_SECONDS it begins again until so much time has passed. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SILENT_MS = 5000, SAMPLES_MAX = 1 << 20 };

static unsigned opened, refused, silent, unknown;
static unsigned samples[SAMPLES_MAX];
static size_t n_samples;

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int connect_to(const struct addrinfo *to)
{
	int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK, 0), error = 0;
	socklen_t n = sizeof(error);
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	struct linger hard = { .l_onoff = 1, .l_linger = 0 };
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	if (connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
		error = errno;
		if (error == EINPROGRESS) {
			error = ETIMEDOUT;
			if (poll(&wait, 1, SILENT_MS) == 1)
				getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n);
		}
	}
	close(fd);
	return error;
}

static void take(const char *name, const char *port)
{
	struct addrinfo hints, *list = NULL;
	memset(&hints, 0, sizeof(hints));
	hints.ai_family = AF_INET;
	hints.ai_socktype = SOCK_STREAM;
	double begun = now_s();
	int r = getaddrinfo(name, port, &hints, &list);
	if (n_samples < SAMPLES_MAX)
		samples[n_samples++] = (unsigned)((now_s() - begun) * 1e6);
	if (r != 0) {
		unknown++;
		return;
	}
	for (const struct addrinfo *to = list; to != NULL; to = to->ai_next) {
		int error = connect_to(to);
		if (error == 0) {
			opened++;
			continue;
		}
		fprintf(stderr, "%s: %s\n", name, strerror(error));
		if (error == ETIMEDOUT)
			silent++;
		else
			refused++;
	}
	freeaddrinfo(list);
}

static int compare(const void *left, const void *right)
{
	unsigned a = *(const unsigned *)left, b = *(const unsigned *)right;
	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	char name[512];
	if (argc < 5)
		return 2;
	unsigned from = (unsigned)atoi(argv[2]), to = (unsigned)atoi(argv[3]);
	double end = argc > 5 ? now_s() + atof(argv[5]) : 0;
	do {
		for (unsigned i = from; i < to; i++) {
			snprintf(name, sizeof(name), argv[1], i);
			take(name, argv[4]);
		}
	} while (now_s() < end);
	qsort(samples, n_samples, sizeof(samples[0]), compare);
	size_t last = n_samples != 0 ? n_samples - 1 : 0;
	printf("%u %u %u %u %u %u %u\n", opened, refused, silent, unknown, samples[last / 2],
	       samples[last * 99 / 100], samples[last]);
	return 0;
}
