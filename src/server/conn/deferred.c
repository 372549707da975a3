/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deferred requests lie one behind the other in one buffer of the connection, each with a header. */
#include "server/conn/deferred.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/conn/conn.h"
#include "server/conn/flow.h"

struct request_header {
	uint32_t stream;
	uint32_t bytes;
};

static void append_bytes(struct tcp_conn *conn, const void *data, size_t len)
{
	if (len == 0)
		return;
	conn->deferred = xrealloc(conn->deferred, conn->deferred_n + len);
	memcpy(conn->deferred + conn->deferred_n, data, len);
	conn->deferred_n += len;
}

bool conn_defer(struct tcp_conn *conn, uint32_t stream, struct slice msg)
{
	struct request_header header = { .stream = stream, .bytes = (uint32_t)msg.n };
	assert(!conn->closed);
	if (conn->deferred_n + sizeof(header) + msg.n > CONN_DEFERRED_MAX_BYTES)
		return false;
	append_bytes(conn, &header, sizeof(header));
	append_bytes(conn, msg.p, msg.n);
	return true;
}

/* Bytes used of `data`. */
static size_t serve_some(struct tcp_conn *conn, const uint8_t *data, size_t len)
{
	size_t used = 0;
	while (used < len && !conn->closed && conn_can_serve_deferred(conn)) {
		struct request_header header;
		memcpy(&header, data + used, sizeof(header));
		used += sizeof(header);
		assert(header.bytes <= len - used);
		conn->proto->serve(conn, header.stream,
				   (struct slice){ (const char *)data + used, header.bytes });
		used += header.bytes;
	}
	return used;
}

void conn_serve_deferred(struct tcp_conn *conn)
{
	uint8_t *data = TAKE_PTR(conn->deferred);
	size_t n = conn->deferred_n;
	conn->deferred_n = 0;
	conn_hold(conn);
	conn_gather(conn);
	size_t used = serve_some(conn, data, n);
	conn_send_gathered(conn);
	if (!conn->closed) {
		/* Those left come before the ones deferred meanwhile. */
		uint8_t *later = TAKE_PTR(conn->deferred);
		size_t later_n = conn->deferred_n;
		conn->deferred_n = 0;
		append_bytes(conn, data + used, n - used);
		append_bytes(conn, later, later_n);
		free(later);
		conn_settle(conn);
	}
	free(data);
	conn_let_go(conn);
}
