/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exec plugins: a program that prints a credential. It gets no terminal and no standard input, has
 * a time limit, and is killed with all it started when that is over or nobody wants it any more. */
#include "kube/client/exec_priv.h"
#include "kube/client/exec_test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/meta.h"
#include "api/time.h"
#include "api/tree.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "kube/client/config_priv.h"
#include "kube/client/secret_tree.h"

enum { OUTPUT_MAX_BYTES = 1 << 20, STDERR_KEPT_BYTES = 256 };

extern char **environ;

void kube_exec_cred_done(struct kube_exec_cred *cred)
{
	secret_done(&cred->token);
	secret_done(&cred->cert);
	secret_done(&cred->key);
	*cred = (struct kube_exec_cred){ 0 };
}

/* ---- its environment and arguments ---- */

static json_t *cluster_info(const struct kube_config *config)
{
	json_t *v = json_pack("{s:s}", "server", config->server);
	if (config->tls_name != NULL)
		json_object_set_new(v, "tls-server-name", json_string(config->tls_name));
	if (config->insecure)
		json_object_set_new(v, "insecure-skip-tls-verify", json_true());
	if (config->proxy != NULL)
		json_object_set_new(v, "proxy-url", json_string(config->proxy));
	return v;
}

/* KUBERNETES_EXEC_INFO=... */
static char *exec_info(const struct kube_config *config)
{
	json_t *o = json_pack("{s:s,s:s,s:{s:b}}", "kind", "ExecCredential", "apiVersion",
			      config->exec.api_version, "spec", "interactive", 0);
	if (o == NULL)
		return xstrdup("KUBERNETES_EXEC_INFO={}");
	if (config->exec.cluster_info)
		json_object_set_new(json_object_get(o, "spec"), "cluster", cluster_info(config));
	char *text = json_dumps(o, JSON_COMPACT);
	char *var = xasprintf("KUBERNETES_EXEC_INFO=%s", text != NULL ? text : "{}");
	free(text);
	json_decref(o);
	return var;
}

typedef VEC(char *) word_list;

static bool is_set(const word_list *list, const char *var)
{
	size_t n = strcspn(var, "=") + 1;
	for (size_t i = 0; i < list->n; i++)
		if (strncmp(list->v[i], var, n) == 0)
			return true;
	return false;
}

/* Ours first, then what of the program's own is not set by it. Texts are borrowed. */
static void make_env(const struct kube_config *config, char *info, word_list *out)
{
	vec_push(out, info);
	for (size_t i = config->exec.env.n; i-- > 0;)
		if (!is_set(out, config->exec.env.v[i]))
			vec_push(out, config->exec.env.v[i]);
	for (char **e = environ; *e != NULL; e++)
		if (!is_set(out, *e))
			vec_push(out, *e);
	vec_push(out, NULL);
}

static void make_args(const struct kube_config *config, word_list *out)
{
	vec_push(out, config->exec.command);
	for (size_t i = 0; i < config->exec.args.n; i++)
		vec_push(out, config->exec.args.v[i]);
	vec_push(out, NULL);
}

/* ---- starting it ---- */

struct child {
	pid_t pid;
	int out, err; /* read ends */
};

static int spawn_child(const struct kube_config *config, int out_w, int err_w, pid_t *ret)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	sigset_t none, all;
	word_list args = { 0 }, env = { 0 };
	CLEANUP(freep) char *info = exec_info(config);
	make_args(config, &args);
	make_env(config, info, &env);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, out_w, 1);
	posix_spawn_file_actions_adddup2(&fa, err_w, 2);
	posix_spawnattr_init(&at);
	/* A group of its own, so that its children can be killed, too. */
	posix_spawnattr_setpgroup(&at, 0);
	posix_spawnattr_setsigmask(&at, &none);
	posix_spawnattr_setsigdefault(&at, &all);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
					      POSIX_SPAWN_SETSIGDEF);
	int r = posix_spawnp(ret, config->exec.command, &fa, &at, args.v, env.v);
	posix_spawnattr_destroy(&at);
	posix_spawn_file_actions_destroy(&fa);
	vec_done(&args);
	vec_done(&env);
	return -r;
}

static void close_pipe(int fd[2])
{
	for (int i = 0; i < 2; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

static int start_child(const struct kube_config *config, struct child *ret)
{
	int out[2] = { -1, -1 }, err[2] = { -1, -1 };
	int r = 0;
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		r = -errno;
	else
		r = spawn_child(config, out[1], err[1], &ret->pid);
	if (r < 0) {
		close_pipe(out);
		close_pipe(err);
		return r;
	}
	close(out[1]);
	close(err[1]);
	ret->out = out[0];
	ret->err = err[0];
	return 0;
}

/* ---- reading it ---- */

/* Reads once: 1 when more may follow, 0 at the end. What is beyond `max` is dropped. */
static int drain_pipe(int fd, struct strbuf *to, size_t max)
{
	char buf[4096];
	ssize_t n = read(fd, buf, sizeof(buf));
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	strbuf_add(to, buf, MIN((size_t)n, max - MIN(max, to->n)));
	explicit_bzero(buf, sizeof(buf));
	return n > 0;
}

/* How the caller ends the wait. */
struct stopper {
	const _Atomic bool *stop; /* or NULL */
	int wake;
};

static bool is_stopped(const struct stopper *stopper)
{
	eventfd_t n;
	IGNORE(eventfd_read(stopper->wake, &n)); /* another user may be meant */
	return stopper->stop != NULL && atomic_load(stopper->stop);
}

/* Until both ends are closed. */
static int read_child(const struct child *ch, const struct stopper *stop, uint64_t limit_ns,
		      struct strbuf *out, struct strbuf *err)
{
	uint64_t end = clock_mono_ns() + limit_ns;
	struct pollfd p[3] = { { .fd = ch->out, .events = POLLIN },
			       { .fd = ch->err, .events = POLLIN },
			       { .fd = stop->wake, .events = POLLIN } };
	while (p[0].fd >= 0 || p[1].fd >= 0) {
		uint64_t now = clock_mono_ns();
		if (is_stopped(stop))
			return -ECANCELED;
		if (now >= end)
			return ERR_TIMEOUT;
		int n = poll(p, 3, (int)MIN((end - now) / NS_PER_MS + 1, (uint64_t)1000));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && p[0].fd >= 0 && p[0].revents != 0 &&
		    drain_pipe(ch->out, out, OUTPUT_MAX_BYTES + 1) == 0)
			p[0].fd = -1;
		if (n > 0 && p[1].fd >= 0 && p[1].revents != 0 &&
		    drain_pipe(ch->err, err, STDERR_KEPT_BYTES) == 0)
			p[1].fd = -1;
		if (out->n > OUTPUT_MAX_BYTES)
			return ERR_LIMIT;
	}
	return 0;
}

/* Its exit status; a process that closed its output but does not end is killed at `end`. With no
 * time at all, the group is killed also when its first process has ended: others hold the output.
 */
static int reap_child(pid_t pid, uint64_t limit_ns)
{
	uint64_t end = clock_mono_ns() + limit_ns;
	int status = 0;
	if (limit_ns == 0)
		kill(-pid, SIGKILL);
	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);
		if (got == pid)
			return status;
		if (got < 0 && errno != EINTR)
			return -1;
		if (clock_mono_ns() >= end)
			kill(-pid, SIGKILL);
		poll(NULL, 0, 2);
	}
}

static const char *first_line(struct strbuf *out)
{
	size_t n = strcspn(out->s, "\r\n");
	if (out->cap != 0)
		out->s[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)out->s[i] < ' ')
			out->s[i] = ' ';
	return out->s;
}

static int explain_failure(const struct kube_config *config, int ret, int status,
			   struct strbuf *said, struct err_text err)
{
	const char *cmd = config->exec.command;
	const char *line = first_line(said);
	const char *colon = line[0] != '\0' ? ": " : "";
	if (ret == ERR_TIMEOUT)
		err_text_set(err, "%s: exec plugin '%s' took longer than %llu s and was killed",
			     config->origin, cmd,
			     (unsigned long long)(config->times.exec_ns / NS_PER_S));
	else if (ret < 0)
		err_text_set(err, "%s: exec plugin '%s': %s", config->origin, cmd, err_str(ret));
	else if (WIFSIGNALED(status))
		err_text_set(err, "%s: exec plugin '%s' died of signal %d%s%s", config->origin, cmd,
			     WTERMSIG(status), colon, line);
	else
		err_text_set(err, "%s: exec plugin '%s' ended with status %d%s%s", config->origin,
			     cmd, WEXITSTATUS(status), colon, line);
	return ret < 0 ? ret : ERR_CLOSED;
}

int kube_exec_run(const struct kube_config *config, const _Atomic bool *stop, int wake,
		  struct kube_exec_cred *ret, struct err_text err)
{
	CLEANUP(secret_wipe_strbuf) struct strbuf out = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
	struct child ch = { .out = -1, .err = -1 };
	char why[256];
	int r = start_child(config, &ch);
	if (r < 0) {
		err_text_set(err, "%s: cannot run exec plugin '%s': %s%s%s", config->origin,
			     config->exec.command, err_str(r),
			     config->exec.hint[0] != '\0' ? ". " : "", config->exec.hint);
		return r;
	}
	r = read_child(&ch, &(struct stopper){ stop, wake }, config->times.exec_ns, &out, &said);
	int status = reap_child(ch.pid, r < 0 ? 0 : NS_PER_S);
	close(ch.out);
	close(ch.err);
	if (r < 0 || status != 0)
		return explain_failure(config, r, status, &said, err);
	r = kube_exec_parse(strbuf_slice(&out), config->exec.api_version, ret, ERR_TEXT(why));
	if (r < 0)
		err_text_set(err, "%s: exec plugin '%s': %s", config->origin, config->exec.command,
			     why);
	return r;
}

/* ---- its output ---- */

static int take_status(const json_t *status, struct kube_exec_cred *cred, const char **why)
{
	const char *token = api_get_string(status, "token");
	const char *cert = api_get_string(status, "clientCertificateData");
	const char *key = api_get_string(status, "clientKeyData");
	const char *expires = api_get_string(status, "expirationTimestamp");
	*why = "status has neither a token nor a certificate";
	if (token[0] == '\0' && cert[0] == '\0')
		return ERR_PARSE;
	*why = "status has only one of clientCertificateData and clientKeyData";
	if ((cert[0] == '\0') != (key[0] == '\0'))
		return ERR_PARSE;
	*why = "status.token holds a line end";
	if (strpbrk(token, "\r\n") != NULL)
		return ERR_PARSE;
	*why = "status.expirationTimestamp is not a time";
	if (expires[0] != '\0' && api_time_parse(expires, &cred->expires_wall_ns) < 0)
		return ERR_PARSE;
	if (token[0] != '\0')
		secret_set(&cred->token, slice_of(token));
	if (cert[0] != '\0') {
		secret_set(&cred->cert, slice_of(cert));
		secret_set(&cred->key, slice_of(key));
	}
	return 0;
}

int kube_exec_parse(struct slice text, const char *api_version, struct kube_exec_cred *ret,
		    struct err_text err)
{
	struct kube_exec_cred cred = { 0 };
	const char *why = "its output is not an ExecCredential";
	/* jansson's own message may quote the text: it is not passed on. */
	json_t *o = json_loadb(text.p != NULL ? text.p : "", text.n, 0, NULL);
	int r = ERR_PARSE;
	if (strcmp(api_kind(o), "ExecCredential") == 0 && strcmp(api_version, "") != 0) {
		why = "the apiVersion of its output is not the requested one";
		const char *version = api_text(json_object_get(o, "apiVersion"));
		if (strcmp(version, api_version) == 0)
			r = take_status(json_object_get(o, "status"), &cred, &why);
	}
	kube_secret_tree_wipe(o);
	if (r < 0) {
		kube_exec_cred_done(&cred);
		err_text_set(err, "%s", why);
		return r;
	}
	*ret = cred;
	return 0;
}
