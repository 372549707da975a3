/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All metrics of the process, over HTTP. */
#include "cmd/node/metrics_page.h"

#include "base/err.h"
#include "base/log.h"
#include "base/metrics/metrics.h"
#include "cmd/errors.h"
#include "http/server.h"

static void write_metrics(void *ctx UNUSED, const struct http_request *request UNUSED,
			  struct http_reply *reply)
{
	reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
	metrics_render(&reply->body);
}

int node_metrics_page_start(const char *listen, struct http_server **ret)
{
	const struct http_route routes[] = { { .path = "/metrics", .handle = write_metrics } };
	int r = http_server_start(listen, routes, ARRAY_LEN(routes), ret);
	if (r < 0)
		cmd_print_error("node", "--metrics: cannot listen on '%s': %s", listen, err_str(r));
	else
		log_info("node", "metrics on port %u", http_server_port(*ret));
	return r;
}
