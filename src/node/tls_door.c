/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the files of the certificate every two seconds. */
#include "node/tls_door.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "node/door.h"
#include "node/door_cert.h"

#define AREA	 "node"
#define CHECK_NS (2 * NS_PER_S)

struct node_tls_door {
	struct node_tls_door_conf conf;
	struct node_door *door; /* NULL: there is no certificate yet */
	struct node_door_cert cert;
	struct loop_timer check_timer;
	bool is_failing; /* reported */
};

static int open_door(struct node_tls_door *tls_door, struct net_tls_cred *cred, struct err_text err)
{
	struct node_door_conf conf = { .loop = tls_door->conf.loop,
				       .set = tls_door->conf.set,
				       .addr = tls_door->conf.addr,
				       .cred = cred };
	int r = node_door_open(&conf, &tls_door->door, err);
	if (r == 0)
		log_info(AREA, "DNS servers of other nodes ask at port %u",
			 node_door_port(tls_door->door));
	else
		tls_door->cert = (struct node_door_cert){
			.files = tls_door->conf.files
		}; /* read again with the next try */
	return r;
}

static int read_cert(struct node_tls_door *tls_door, struct err_text err)
{
	struct net_tls_cred *cred = NULL;
	int r = node_door_cert_read(&tls_door->cert, &cred, err);
	if (r <= 0)
		return r;
	if (tls_door->door == NULL) {
		r = open_door(tls_door, cred, err);
	} else {
		log_info(AREA, "the certificate for DNS servers of other nodes was read again");
		node_door_set_cred(tls_door->door, cred);
	}
	net_tls_cred_unref(cred);
	return r < 0 ? r : 0;
}

static void on_check_time(struct loop_timer *timer)
{
	struct node_tls_door *tls_door = CONTAINER_OF(timer, struct node_tls_door, check_timer);
	char why[256];
	int r = read_cert(tls_door, ERR_TEXT(why));
	if (r < 0 && !tls_door->is_failing)
		log_error(AREA, "%s; %s", why,
			  tls_door->door != NULL
				  ? "DNS servers meet the certificate of before"
				  : "DNS servers of other nodes cannot ask until that is over");
	tls_door->is_failing = r < 0;
	loop_timer_set(tls_door->conf.loop, timer, clock_mono_ns() + CHECK_NS);
}

int node_tls_door_open(const struct node_tls_door_conf *conf, struct node_tls_door **ret,
		       struct err_text err)
{
	struct node_tls_door *tls_door = xcalloc(1, sizeof(*tls_door));
	tls_door->conf = *conf;
	tls_door->cert.files = conf->files;
	tls_door->check_timer.cb = on_check_time;
	char why[256] = "";
	int r = read_cert(tls_door, ERR_TEXT(why));
	if (r < 0 && r != -ENOENT) {
		err_text_set(err, "%s", why);
		node_tls_door_close(tls_door);
		return r;
	}
	if (r < 0)
		log_warn(AREA, "%s; DNS servers of other nodes cannot ask until it exists", why);
	tls_door->is_failing = r < 0;
	loop_timer_set(conf->loop, &tls_door->check_timer, clock_mono_ns() + CHECK_NS);
	*ret = tls_door;
	return 0;
}

void node_tls_door_close(struct node_tls_door *tls_door)
{
	if (tls_door == NULL)
		return;
	loop_timer_stop(tls_door->conf.loop, &tls_door->check_timer);
	node_door_close(tls_door->door);
	free(tls_door);
}

void node_tls_door_end_connections(struct node_tls_door *tls_door)
{
	if (tls_door != NULL && tls_door->door != NULL)
		node_door_end_connections(tls_door->door);
}

void node_tls_door_forget(struct node_tls_door *tls_door)
{
	if (tls_door != NULL && tls_door->door != NULL)
		node_door_forget(tls_door->door);
}
