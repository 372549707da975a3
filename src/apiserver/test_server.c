/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The server as a whole: starting on a data directory, and the message when it cannot start. */
#include "apiserver/server.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/meta.h"
#include "api/yaml/yaml.h"
#include "apiserver/access/atomic_file.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "net/addr.h"
#include "net/tls.h"

struct rig {
	char dir[64], err[512];
	struct apiserver_server_conf conf;
	struct apiserver_server *server;
};

static void rig_init(struct rig *rig)
{
	snprintf(rig->dir, sizeof(rig->dir), "/tmp/test_server.XXXXXX");
	assert_non_null(mkdtemp(rig->dir));
	rig->conf = (struct apiserver_server_conf){ .dir = rig->dir,
						    .listen = "127.0.0.1:0",
						    .version = "0.1.0" };
}

static void rig_start(struct rig *rig)
{
	if (apiserver_server_start(&rig->conf, &rig->server, ERR_TEXT(rig->err)) < 0)
		fail_msg("%s", rig->err);
}

static void remove_dir(const char *dir)
{
	struct dirent *e;
	DIR *d = opendir(dir);
	while ((e = readdir(d)) != NULL) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", dir, e->d_name);
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlink(path);
	}
	closedir(d);
	assert_int_equal(rmdir(dir), 0);
}

/* The content of a kubeconfig, and a connection made with it. */
struct client {
	char *token;
	struct net_tls_cred *cred;
	struct net_tls *tls;
	int fd;
};

static void dial_tls(struct rig *rig, const json_t *config, struct client *client)
{
	CLEANUP(strbuf_done) struct strbuf pem = STRBUF_INIT;
	CLEANUP(freep) char *ca = xasprintf("%s/test-ca.pem", rig->dir);
	union net_addr a;
	const char *server = api_get_string(config, "clusters[0].cluster.server");
	assert_string_equal(server, apiserver_server_url(rig->server));
	assert_int_equal(net_addr_parse(slice_of(server + strlen("https://")), &a), 0);
	assert_int_equal(
		base64_decode(&pem,
			      slice_of(api_get_string(
				      config, "clusters[0].cluster.certificate-authority-data"))),
		0);
	assert_int_equal(apiserver_atomic_file_write(rig->dir, "test-ca.pem", strbuf_slice(&pem),
						     ERR_TEXT(rig->err)),
			 0);
	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(client->fd, &a.sa, net_addr_len(&a)), 0);
	assert_int_equal(net_tls_client_cred(&(struct net_tls_files){ .ca = ca }, &client->cred,
					     ERR_TEXT(rig->err)),
			 0);
	assert_int_equal(
		net_tls_connect(client->cred, client->fd, "127.0.0.1", NULL, NULL, &client->tls),
		0);
	assert_int_equal(net_tls_handshake(client->tls), 0);
}

/* The program's own kubeconfig names the socket in the data directory. */
static void dial_socket(struct rig *rig, const json_t *config, struct client *client)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *server = api_get_string(config, "clusters[0].cluster.server");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/api.sock", rig->dir);
	assert_string_equal(server + strlen("unix://"), address.sun_path);
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(client->fd, (const struct sockaddr *)&address, sizeof(address)),
			 0);
}

static void dial(struct rig *rig, const char *kubeconfig, struct client *client)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct srcerr serr;
	json_t *o;
	const char *file = strrchr(kubeconfig, '/') + 1;
	assert_int_equal(apiserver_atomic_file_read(rig->dir, file, &text, ERR_TEXT(rig->err)), 0);
	assert_int_equal(api_yaml_parse_one(file, strbuf_slice(&text), &o, &serr), 0);
	*client = (struct client){ .token = xstrdup(api_get_string(o, "users[0].user.token")) };
	if (strcmp(kubeconfig, apiserver_server_system_kubeconfig(rig->server)) == 0)
		dial_socket(rig, o, client);
	else
		dial_tls(rig, o, client);
	json_decref(o);
}

static void hang_up(struct client *client)
{
	if (client->tls != NULL) {
		net_tls_free(client->tls);
		net_tls_cred_unref(client->cred);
	}
	close(client->fd);
	free(client->token);
}

/* The whole reply; the caller frees. */
static char *ask(struct rig *rig, const char *kubeconfig, const char *line, const char *body)
{
	struct client c;
	struct strbuf in = STRBUF_INIT;
	char part[4096];
	ssize_t n;
	dial(rig, kubeconfig, &c);
	CLEANUP(freep)
	char *text = xasprintf("%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: "
			       "Bearer %s\r\nContent-Length: %zu\r\n\r\n%s",
			       line, c.token, strlen(body), body);
	assert_int_equal(c.tls != NULL ? net_tls_send(c.tls, text, strlen(text))
				       : send(c.fd, text, strlen(text), 0),
			 strlen(text));
	while ((n = c.tls != NULL ? net_tls_recv(c.tls, part, sizeof(part))
				  : recv(c.fd, part, sizeof(part), 0)) > 0)
		strbuf_add(&in, part, (size_t)n);
	hang_up(&c);
	return strbuf_take(&in);
}

static void check(struct rig *rig, const char *kubeconfig, const char *line, const char *body,
		  const char *part)
{
	CLEANUP(freep) char *reply = ask(rig, kubeconfig, line, body);
	if (strstr(reply, part) == NULL)
		fail_msg("%s: %s", line, reply);
}

static void serves_and_remembers(void **state)
{
	static const char map[] = "{\"metadata\":{\"name\":\"a\"},\"data\":{\"x\":\"y\"}}";
	static const char maps[] = "/api/v1/namespaces/default/configmaps";
	CLEANUP(freep) char *post = xasprintf("POST %s", maps);
	CLEANUP(freep) char *get = xasprintf("GET %s/a", maps);
	struct rig r;
	(void)state;
	rig_init(&r);
	rig_start(&r);
	const char *user = apiserver_server_kubeconfig(r.server);
	check(&r, user, "GET /readyz?verbose", "", "readyz check passed");
	check(&r, user, post, map, "201 Created");
	check(&r, user, get, "", "\"data\":{\"x\":\"y\"}");
	check(&r, user, "GET /api/v1/namespaces", "", "\"name\":\"kube-system\"");
	check(&r, user, "PUT /apis/operator.openshift.io/v1/dnses/x/status", "{}", "403 Forbidden");
	check(&r, apiserver_server_system_kubeconfig(r.server), "PUT /api/v1/nodes/x/status",
	      "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\"}}",
	      "404 Not Found");
	apiserver_server_stop(r.server);
	/* The same trust and the same objects after a new start. */
	CLEANUP(strbuf_done) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
	assert_int_equal(apiserver_atomic_file_read(r.dir, "ca.crt", &before, ERR_TEXT(r.err)), 0);
	rig_start(&r);
	assert_int_equal(apiserver_atomic_file_read(r.dir, "ca.crt", &after, ERR_TEXT(r.err)), 0);
	assert_string_equal(before.s, after.s);
	check(&r, apiserver_server_kubeconfig(r.server), get, "", "\"data\":{\"x\":\"y\"}");
	apiserver_server_stop(r.server);
	remove_dir(r.dir);
	apiserver_server_stop(NULL);
}

static void a_watch_ends_with_the_server(void **state)
{
	CLEANUP(strbuf_done) struct strbuf in = STRBUF_INIT;
	struct client c;
	struct rig r;
	char part[4096];
	ssize_t n;
	(void)state;
	rig_init(&r);
	rig_start(&r);
	dial(&r, apiserver_server_kubeconfig(r.server), &c);
	CLEANUP(freep)
	char *text = xasprintf("GET /api/v1/namespaces/default/configmaps?watch=1 HTTP/1.1\r\n"
			       "Host: x\r\nAuthorization: Bearer %s\r\n\r\n",
			       c.token);
	assert_int_equal(net_tls_send(c.tls, text, strlen(text)), strlen(text));
	check(&r, apiserver_server_kubeconfig(r.server),
	      "POST /api/v1/namespaces/default/configmaps", "{\"metadata\":{\"name\":\"seen\"}}",
	      "201 Created");
	while (strstr(in.s, "\"name\":\"seen\"") == NULL) {
		n = net_tls_recv(c.tls, part, sizeof(part));
		assert_true(n > 0);
		strbuf_add(&in, part, (size_t)n);
	}
	apiserver_server_stop(r.server);
	while ((n = net_tls_recv(c.tls, part, sizeof(part))) > 0)
		strbuf_add(&in, part, (size_t)n);
	assert_non_null(strstr(in.s, "\r\n0\r\n\r\n"));
	hang_up(&c);
	remove_dir(r.dir);
}

static void refusals(void **state)
{
	struct rig r, other;
	struct apiserver_server *s;
	(void)state;
	rig_init(&r);
	rig_start(&r);
	/* Two on one directory. */
	assert_int_equal(apiserver_server_start(&r.conf, &s, ERR_TEXT(r.err)), ERR_BUSY);
	char pid[32];
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	assert_non_null(strstr(r.err, pid));
	/* Two on one port. */
	rig_init(&other);
	const char *addr = apiserver_server_url(r.server) + strlen("https://");
	other.conf.listen = addr;
	assert_int_equal(apiserver_server_start(&other.conf, &s, ERR_TEXT(other.err)), -EADDRINUSE);
	CLEANUP(freep)
	char *want = xasprintf("cannot listen on %s: another program listens there; stop it or "
			       "choose another port",
			       addr);
	assert_string_equal(other.err, want);
	other.conf.listen = "192.0.2.1:0";
	assert_int_equal(apiserver_server_start(&other.conf, &s, ERR_TEXT(other.err)),
			 -EADDRNOTAVAIL);
	assert_string_equal(other.err,
			    "cannot listen on 192.0.2.1:0: this machine has no such address");
	other.conf.listen = "nowhere";
	assert_int_equal(apiserver_server_start(&other.conf, &s, ERR_TEXT(other.err)), ERR_PARSE);
	assert_string_equal(other.err,
			    "'nowhere' is not an address to listen on, such as 127.0.0.1:8054");
	apiserver_server_stop(r.server);
	remove_dir(r.dir);
	/* No place for files. */
	other.conf.listen = "127.0.0.1:0";
	other.conf.dir = "/proc/nope";
	assert_true(apiserver_server_start(&other.conf, &s, ERR_TEXT(other.err)) < 0);
	assert_non_null(strstr(other.err, "/proc/nope"));
	remove_dir(other.dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(serves_and_remembers),
		cmocka_unit_test(a_watch_ends_with_the_server),
		cmocka_unit_test(refusals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
