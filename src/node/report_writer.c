/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One thread with one connection. What changes while a write is under way is written with the next one. */
#include "node/report_writer.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <jansson.h>

#include "api/egress/node_report.h"
#include "api/kind.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "kube/client/client.h"

#define AREA	"node"
#define MANAGER "fairlead-node"

enum {
	GAP_S = 1,   /* between two writes */
	RETRY_S = 5, /* after one that failed */
	BOOT_ID_BYTES = 64,
	BOOT_ID_WAIT_MS = 1000,
};

struct node_report_writer {
	struct node_report_conf conf;
	struct kube_conn *conn;
	char name[EGRESS_REPORT_NAME_MAX + 1];
	struct strbuf boot_id;
	pthread_t thread;
	bool is_failing; /* logged */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t cond;
	json_t *data; /* of the ConfigMap; NULL: none yet */
	bool is_new, stops;
};

/* ---- writing ---- */

static json_t *make_metadata(const struct node_report_writer *writer)
{
	const struct node_report_conf *conf = &writer->conf;
	json_t *metadata = json_pack("{s:s, s:s, s:{s:s}}", "name", writer->name, "namespace",
				     conf->ns, "labels", EGRESS_REPORT_LABEL, "");
	if (conf->pod_name != NULL && conf->pod_uid != NULL)
		json_object_set_new(metadata, "ownerReferences",
				    json_pack("[{s:s, s:s, s:s, s:s}]", "apiVersion", "v1", "kind",
					      "Pod", "name", conf->pod_name, "uid", conf->pod_uid));
	return metadata;
}

/* Takes `data`. */
static int write_report(struct node_report_writer *writer, json_t *data)
{
	struct kube_ref ref = { .kind = api_kind_find("", "ConfigMap"),
				.ns = writer->conf.ns,
				.name = writer->name };
	struct kube_status status;
	json_t *object = json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", "v1", "kind", "ConfigMap",
				   "metadata", make_metadata(writer), "data", data);
	int r = kube_apply(writer->conn, &ref, NULL, MANAGER, object, NULL, &status);
	if (r < 0 && !writer->is_failing)
		log_warn(AREA,
			 "cannot write the ConfigMap %s/%s, from which the status of firewalls is "
			 "made: %s; trying again",
			 ref.ns, ref.name, status.message[0] != '\0' ? status.message : err_str(r));
	else if (r == 0 && writer->is_failing)
		log_info(AREA, "the ConfigMap %s/%s is written again", ref.ns, ref.name);
	writer->is_failing = r < 0;
	kube_status_done(&status);
	json_decref(object);
	return r;
}

/* With the lock held; it is given back while it waits. */
static void wait_seconds(struct node_report_writer *writer, int seconds)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	while (!writer->stops &&
	       pthread_cond_timedwait(&writer->cond, &writer->lock, &until) == 0) {
	}
}

static void *run_writer(void *arg)
{
	struct node_report_writer *writer = arg;
	pthread_mutex_lock(&writer->lock);
	while (!writer->stops) {
		if (!writer->is_new) {
			pthread_cond_wait(&writer->cond, &writer->lock);
			continue;
		}
		json_t *data =
			json_deep_copy(writer->data); /* counts of references are not shared */
		writer->is_new = false;
		pthread_mutex_unlock(&writer->lock);
		int r = write_report(writer, data);
		pthread_mutex_lock(&writer->lock);
		writer->is_new |= r < 0;
		wait_seconds(writer, r < 0 ? RETRY_S : GAP_S);
	}
	pthread_mutex_unlock(&writer->lock);
	return NULL;
}

void node_report_writer_set(struct node_report_writer *writer, const struct node_report *report)
{
	json_t *data =
		json_pack("{s:s, s:s, s:s, s:s%, s:s%, s:s%}", "node", writer->conf.node_name,
			  "bootID", writer->boot_id.s, "dataPath",
			  report->bypass != NULL ? report->bypass : "", "firewalls",
			  report->firewalls.p, report->firewalls.n, "problems", report->problems.p,
			  report->problems.n, "released", report->released.p, report->released.n);
	if (report->clients.n != 0)
		json_object_set_new(data, "clients",
				    json_stringn(report->clients.p, report->clients.n));
	pthread_mutex_lock(&writer->lock);
	if (json_equal(writer->data, data)) {
		json_decref(data);
	} else {
		json_decref(writer->data);
		writer->data = data;
		writer->is_new = true;
		pthread_cond_signal(&writer->cond);
	}
	pthread_mutex_unlock(&writer->lock);
}

/* ---- begin and end ---- */

static void read_boot_id(struct strbuf *out)
{
	strbuf_adds(out, "");
	if (readfile_path("/proc/sys/kernel/random/boot_id", BOOT_ID_BYTES, BOOT_ID_WAIT_MS, out) <
	    0)
		strbuf_reset(out); /* the controller takes it for an unknown one */
	while (out->n > 0 && out->s[out->n - 1] == '\n')
		out->s[--out->n] = '\0';
}

int node_report_writer_start(const struct node_report_conf *conf, struct node_report_writer **ret,
			     struct err_text err)
{
	struct node_report_writer *writer = xcalloc(1, sizeof(*writer));
	pthread_condattr_t attr;
	writer->conf = *conf;
	writer->conn = kube_conn_new(conf->client, err);
	egress_report_name(conf->node_name, writer->name);
	strbuf_init(&writer->boot_id);
	read_boot_id(&writer->boot_id);
	pthread_mutex_init(&writer->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&writer->cond, &attr);
	pthread_condattr_destroy(&attr);
	int r = writer->conn != NULL ? -pthread_create(&writer->thread, NULL, run_writer, writer)
				     : ERR_CLOSED;
	if (r < 0) {
		if (writer->conn != NULL)
			err_text_set(err, "cannot start a thread: %s", err_str(r));
		kube_conn_free(writer->conn);
		writer->conn = NULL;
		node_report_writer_stop(writer);
		return r;
	}
	*ret = writer;
	return 0;
}

void node_report_writer_stop(struct node_report_writer *writer)
{
	if (writer == NULL)
		return;
	if (writer->conn != NULL) {
		pthread_mutex_lock(&writer->lock);
		writer->stops = true;
		pthread_cond_signal(&writer->cond);
		pthread_mutex_unlock(&writer->lock);
		kube_conn_cancel(writer->conn);
		pthread_join(writer->thread, NULL);
		kube_conn_free(writer->conn);
	}
	pthread_mutex_destroy(&writer->lock);
	pthread_cond_destroy(&writer->cond);
	strbuf_done(&writer->boot_id);
	json_decref(writer->data);
	free(writer);
}
