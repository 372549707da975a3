/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One connection with one question. */
#include "cmd/node/probe.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "addrset/shared/agent_stream.h"
#include "base/clock.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/errors.h"

#define PROBE_NS (3 * NS_PER_S)

struct probe {
	struct addrset_agent_stream stream;
	struct loop_timer timer;
	bool only_alive, is_over;
	int result; /* when it is over: 0, or why not */
};

static void end_probe(struct probe *probe, int result)
{
	probe->is_over = true;
	probe->result = result;
}

static void on_hello(struct addrset_agent_stream *stream)
{
	struct probe *probe = CONTAINER_OF(stream, struct probe, stream);
	if (probe->only_alive)
		end_probe(probe, 0);
	else
		addrset_agent_put_probe(addrset_agent_stream_out(stream), 1);
}

static int on_frame(struct addrset_agent_stream *stream, const struct addrset_agent_frame *frame)
{
	if (frame->kind != ADDRSET_AGENT_RESULT)
		return ERR_PARSE;
	end_probe(CONTAINER_OF(stream, struct probe, stream), frame->result);
	return 0;
}

static void on_ended(struct addrset_agent_stream *stream, int reason)
{
	struct probe *probe = CONTAINER_OF(stream, struct probe, stream);
	if (!probe->is_over)
		end_probe(probe, reason);
}

static void on_time(struct loop_timer *timer)
{
	end_probe(CONTAINER_OF(timer, struct probe, timer), ERR_TIMEOUT);
}

static int connect_agent(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t n = strlen(path);
	if (n >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, n);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	int r = -errno;
	close(fd);
	return r;
}

static void ask_agent(struct probe *probe, struct loop *loop, const char *path)
{
	int fd = connect_agent(path);
	probe->stream = (struct addrset_agent_stream){
		.loop = loop, .greeted = on_hello, .frame = on_frame, .ended = on_ended
	};
	int r = fd < 0 ? fd : addrset_agent_stream_open(&probe->stream, fd, NULL, false);
	if (r < 0) {
		end_probe(probe, r);
		return;
	}
	probe->timer.cb = on_time;
	loop_timer_set(loop, &probe->timer, clock_mono_ns() + PROBE_NS);
	while (!probe->is_over)
		loop_turn(loop, true);
	loop_timer_stop(loop, &probe->timer);
	addrset_agent_stream_close(&probe->stream);
}

int node_probe(const char *path, bool only_alive)
{
	struct probe probe = { .only_alive = only_alive };
	struct loop *loop = loop_new();
	if (loop == NULL)
		end_probe(&probe, ERR_LIMIT);
	else
		ask_agent(&probe, loop, path);
	loop_free(loop);
	if (probe.result == ERR_BUSY)
		cmd_print_error("node", "the agent at '%s' has no rules in force yet", path);
	else if (probe.result < 0)
		cmd_print_error("node", "no agent answers at '%s': %s", path,
				err_str(probe.result));
	return probe.result == 0 ? EXIT_DONE : EXIT_FAILED;
}
